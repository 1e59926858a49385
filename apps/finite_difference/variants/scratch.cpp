/// \file
/// Tiles in team scratch, each with the next element as its right halo: each element is read once from memory and used
/// twice. The kernel is kernels/stencil.hpp.

#include "../problem.hpp"

#include <tessera/kernels/stencil.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::finite_difference {

struct Scratch {
  static constexpr VariantInfo info{
      .name = "scratch", .level = Level::team, .summary = "tiles with a right halo of one element in team scratch"};

  template <ExecutionSpace Exec, class T>
  using Plan = SegmentPlan<FiniteDifference, Scratch, Exec, T, kernels::ScratchStencil<Exec, T, Difference<T>>>;
};

VariantRows scratch() { return rows<FiniteDifference, Scratch>(); }

}  // namespace tessera::finite_difference
