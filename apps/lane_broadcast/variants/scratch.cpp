/// \file
/// Tiles of whole segments in team scratch: one thread folds a segment's head, and after a barrier all threads read the
/// result. The kernel is kernels/segments.hpp.

#include "../broadcast_rules.hpp"

#include <tessera/kernels/segments.hpp>

namespace tessera::lane_broadcast {

struct Scratch {
  static constexpr VariantInfo info{
      .name = "scratch", .level = Level::team, .summary = "segments in team scratch, their head read from there"};

  template <ExecutionSpace Exec, class T>
  using Plan = BroadcastPlan<kernels::SegmentScratch, Scratch, Exec, T>;
};

VariantRows scratch() { return rows<LaneBroadcast, Scratch>(); }

}  // namespace tessera::lane_broadcast
