/// \file
/// One segment an index, from its first element to its last: the plain Kokkos answer.

#include "../broadcast_rules.hpp"

#include <tessera/kernels/segment_range.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::lane_broadcast {

struct Direct {
  static constexpr VariantInfo info{
      .name = "direct", .level = Level::range, .summary = "one segment an index, the baseline"};
  struct Label {
    static constexpr char const* text = "tessera::lane_broadcast::direct::apply";
  };

  template <ExecutionSpace Exec, class T>
  using Plan = BroadcastPlan<kernels::SegmentRange, Label, Exec, T>;
};

VariantRows direct() { return rows<LaneBroadcast, Direct>(); }

}  // namespace tessera::lane_broadcast
