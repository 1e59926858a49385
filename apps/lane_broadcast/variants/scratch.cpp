/// \file
/// Tiles of whole segments in team scratch: one thread folds a segment's head, after a barrier all read it.

#include "../broadcast_rules.hpp"

#include <tessera/kernels/segment_scratch.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::lane_broadcast {

struct Scratch {
  static constexpr VariantInfo info{
      .name = "scratch", .level = Level::team, .summary = "segments in team scratch, their head read from there"};
  struct Label {
    static constexpr char const* text = "tessera::lane_broadcast::scratch::apply";
  };

  template <ExecutionSpace Exec, class T>
  using Plan = BroadcastPlan<kernels::SegmentScratch, Label, Exec, T>;
};

VariantRows scratch() { return rows<LaneBroadcast, Scratch>(); }

}  // namespace tessera::lane_broadcast
