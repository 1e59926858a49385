/// \file
/// LayoutRight, C's order: neighbouring columns are neighbours in memory.

#include "../fill.hpp"

namespace tessera::layouts {

struct Right {
  static constexpr VariantInfo info{
      .name = "right", .level = Level::range, .summary = "Kokkos::LayoutRight: row after row, the baseline"};

  static constexpr std::size_t field = 0;
  [[nodiscard]] static Shape padded(std::size_t rows, std::size_t cols, Parameters const&) { return {rows, cols}; }
  template <class Memory, class T>
  [[nodiscard]] static auto over(T* data, Shape const& padded, Parameters const&) {
    return Over<T, Kokkos::LayoutRight, Memory>(data, padded[0], padded[1]);
  }

  template <ExecutionSpace Exec, class T>
  using Plan = FillPlan<Exec, T, Right>;
};

VariantRows right() { return rows<Layouts, Right>(); }

}  // namespace tessera::layouts
