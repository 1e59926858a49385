/// \file
/// Every thread's 32 lanes hold segments in registers: the fold of a segment's head is read from its first lane, the
/// next element from the next lane. No scratch, no barriers. The kernel is kernels/segments.hpp.

#include "../broadcast_rules.hpp"

#include <tessera/kernels/segments.hpp>

namespace tessera::lane_broadcast {

struct Lanes {
  static constexpr VariantInfo info{.name = "lanes",
                                    .level = Level::lane,
                                    .summary = "segments in registers, their head by lane exchange: no scratch"};

  template <ExecutionSpace Exec, class T>
  using Plan = BroadcastPlan<kernels::SegmentLanes, Lanes, Exec, T>;
};

VariantRows lanes() { return rows<LaneBroadcast, Lanes>(); }

}  // namespace tessera::lane_broadcast
