/// \file
/// LayoutLeft, Fortran's order: neighbouring rows are neighbours in memory. The kernel runs along rows, so neighbouring
/// indices write elements that lie a column's length apart.

#include "../fill.hpp"

namespace tessera::layouts {

struct Left : Dense<Kokkos::LayoutLeft> {
  static constexpr VariantInfo info{
      .name = "left", .level = Level::range, .summary = "Kokkos::LayoutLeft: column after column"};

  static constexpr std::size_t field = 1;
  template <ExecutionSpace Exec, class T>
  using Plan = FillPlan<Exec, T, Left>;
};

VariantRows left() { return rows<Layouts, Left>(); }

}  // namespace tessera::layouts
