/// \file
/// LayoutLeft, Fortran's order: neighbouring rows are neighbours in memory. The kernel runs along rows, so neighbouring
/// indices write elements that lie a column's length apart.

#include "../fill.hpp"

namespace tessera::layouts {

struct Left {
  static constexpr VariantInfo info{
      .name = "left", .level = Level::range, .summary = "Kokkos::LayoutLeft: column after column"};

  static constexpr std::size_t field = 1;
  [[nodiscard]] static Shape padded(std::size_t rows, std::size_t cols, Parameters const&) { return {rows, cols}; }
  template <class Memory, class T>
  [[nodiscard]] static auto over(T* data, Shape const& padded, Parameters const&) {
    return Over<T, Kokkos::LayoutLeft, Memory>(data, padded[0], padded[1]);
  }

  template <ExecutionSpace Exec, class T>
  using Plan = FillPlan<Exec, T, Left>;
};

VariantRows left() { return rows<Layouts, Left>(); }

}  // namespace tessera::layouts
