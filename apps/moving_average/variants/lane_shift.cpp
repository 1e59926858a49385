/// \file
/// Each lane holds 16-byte packs and gets the two elements after each pack from the next lane, without scratch or
/// barriers. The kernel is kernels/stencil.hpp.

#include "../problem.hpp"

#include <tessera/kernels/stencil.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::moving_average {

struct LaneShift {
  static constexpr VariantInfo info{.name = "lane_shift",
                                    .level = Level::lane,
                                    .summary = "16-byte packs in registers, neighbours from the next lane: no scratch"};

  template <ExecutionSpace Exec, Floating T>
  using Plan = SegmentPlan<MovingAverage, LaneShift, Exec, T, kernels::LaneStencil<Exec, T, ForwardMean<T>>>;
};

VariantRows lane_shift() { return rows<MovingAverage, LaneShift>(); }

}  // namespace tessera::moving_average
