/// \file
/// Every lane has its own counts, so the loop needs no atomics. The kernel is kernels/histogram.hpp.

#include "../plan.hpp"

#include <tessera/kernels/histogram.hpp>

namespace tessera::histogram {

struct LanePrivate {
  static constexpr VariantInfo info{
      .name = "lane_private",
      .level = Level::lane,
      .summary = "private counters per lane in scratch, no atomics; then teams, then result"};
  template <ExecutionSpace Exec, class T>
  using Plan = CountPlan<LanePrivate, Exec, T, kernels::LaneHistogram<Exec, T>>;
};

VariantRows lane_private() { return rows<Histogram, LanePrivate>(); }

}  // namespace tessera::histogram
