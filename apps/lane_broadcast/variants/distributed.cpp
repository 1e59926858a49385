/// \file
/// On several ranks: each makes the segments that it has whole, while the missing elements of those that its ends cut are on
/// their way; then these, of which it keeps its part. By lanes on a GPU, one segment an index on a host
/// (kernels/segments.hpp).

#include <array>
#include <type_traits>

#include "../broadcast_rules.hpp"

#include <tessera/kernels/segments.hpp>
#include <tessera/ranks/cut_segments.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::lane_broadcast {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank its segments; those that cross ranks are made on each"};
  static constexpr char const* label = "tessera::lane_broadcast::distributed::apply";

  template <class Exec, class Rule>
  using OnSegments =
      std::conditional_t<is_gpu<Exec>, kernels::SegmentLanes<Exec, Rule>, kernels::SegmentRange<Exec, Rule>>;

  template <ExecutionSpace Exec, class T>
  class Plan
      : public ranks::SegmentPlanOnRanks<LaneBroadcast, Distributed, Exec, T, OnSegments<Exec, BasicRule<T>>,
                                         OnSegments<Exec, ConditionalRule<T>>, OnSegments<Exec, ShuffleRule<T>>> {
    using Base = typename Plan::SegmentPlanOnRanks;

   public:
    using Base::Base;

    /// As BroadcastPlan's.
    [[nodiscard]] double rounding_steps() const { return std::array{3, 0, 4}[this->op()]; }
  };
};

VariantRows distributed() { return rows<LaneBroadcast, Distributed>(); }

}  // namespace tessera::lane_broadcast
