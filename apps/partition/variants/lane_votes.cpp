/// \file
/// The lanes of one thread hold segments, vote, and count the bits of the votes to place their elements. One launch
/// without scratch and barriers, 2n traffic. The kernel is kernels/partition_segments.hpp.

#include "../predicate.hpp"
#include "../problem.hpp"

#include <tessera/kernels/partition_segments.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

struct LaneVotes {
  static constexpr VariantInfo info{.name = "lane_votes",
                                    .level = Level::lane,
                                    .summary = "segments in the lanes of a thread, placed by their votes"};
  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::SegmentPartition<Exec, T, LessThanPivot<T>> {
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input)
        : Plan::SegmentPartition(exec, input.in.extent(0), input.parameters.segment,
                                 LessThanPivot<T>(input.parameters.pivot), input.parameters.team,
                                 "tessera::partition::lane_votes") {
      require_two_sides(input.parameters);
      require_kept_order(input.parameters);
    }
  };
};

VariantRows lane_votes() { return rows<Partition, LaneVotes>(); }

}  // namespace tessera::partition
