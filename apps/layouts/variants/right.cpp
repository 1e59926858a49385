/// \file
/// LayoutRight, C's order: neighbouring columns are neighbours in memory.

#include "../fill.hpp"

namespace tessera::layouts {

struct Right : Dense<Kokkos::LayoutRight> {
  static constexpr VariantInfo info{
      .name = "right", .level = Level::range, .summary = "Kokkos::LayoutRight: row after row, the baseline"};

  static constexpr std::size_t field = 0;
  template <ExecutionSpace Exec, class T>
  using Plan = FillPlan<Exec, T, Right>;
};

VariantRows right() { return rows<Layouts, Right>(); }

}  // namespace tessera::layouts
