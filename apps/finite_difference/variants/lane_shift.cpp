/// \file
/// Each lane holds 16-byte packs and gets the element after each pack from the next lane, without scratch or barriers.
/// The kernel is kernels/stencil.hpp.

#include "../problem.hpp"

#include <tessera/kernels/stencil.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::finite_difference {

struct LaneShift {
  static constexpr VariantInfo info{.name = "lane_shift",
                                    .level = Level::lane,
                                    .summary = "16-byte packs in registers, neighbours from the next lane: no scratch"};

  template <ExecutionSpace Exec, class T>
  using Plan = SegmentPlan<FiniteDifference, LaneShift, Exec, T, kernels::LaneStencil<Exec, T, Difference<T>>>;
};

VariantRows lane_shift() { return rows<FiniteDifference, LaneShift>(); }

}  // namespace tessera::finite_difference
