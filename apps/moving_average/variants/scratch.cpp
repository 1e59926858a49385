/// \file
/// Tiles in team scratch, each with the next two elements as its right halo: each element is read once from memory and
/// used three times. The kernel is kernels/stencil.hpp.

#include "../problem.hpp"

#include <tessera/kernels/stencil.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::moving_average {

struct Scratch {
  static constexpr VariantInfo info{
      .name = "scratch", .level = Level::team, .summary = "tiles with a right halo of two elements in team scratch"};

  template <ExecutionSpace Exec, Floating T>
  using Plan = SegmentPlan<MovingAverage, Scratch, Exec, T, kernels::ScratchStencil<Exec, T, ForwardMean<T>>>;
};

VariantRows scratch() { return rows<MovingAverage, Scratch>(); }

}  // namespace tessera::moving_average
