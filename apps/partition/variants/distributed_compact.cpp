/// \file
/// Stream compaction on several ranks: each rank compacts its block (kernels/partition.hpp), and all left elements go
/// to the ranks that own the first places, in the order of the ranks (ranks/runs_to_places.hpp). The rest of `values`
/// is not changed. Traffic: n + 2L elements, with L the number of left elements. Most left elements go to other ranks,
/// because only the first L places are written.
///
/// Example, left is < 5, 2 ranks: 3 7 1 | 8 9 2 -> 3 1 | 2, with 2 and 1 left elements: the second rank's left element
/// goes to place 2, which the first rank owns. Result: 3 1 2 | nothing.

#include <cstdint>
#include <vector>

#include "../compaction.hpp"
#include "../runs_on_ranks.hpp"

#include <tessera/kernels/partition.hpp>

namespace tessera::partition {

struct DistributedCompact {
  static constexpr VariantInfo info{
      .name = "distributed_compact",
      .level = Level::ranks,
      .summary = "stream compaction: each rank compacts its block, then sends it to the first places"};

  template <ExecutionSpace Exec, class T>
  class Plan : public RunsOnRanks<Exec, T, kernels::LookBackCompaction<Exec, T, LessThanPivot<T>>, 1> {
   public:
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input, ranks::Part const& part)
        : Plan::RunsOnRanks(
              (require_two_sides(input.parameters), expect_one_segment(input.parameters, part.input[0][0]), exec),
              input, part, "tessera::partition::distributed_compact"),
          work_(compaction_work<Exec, T>(exec, input)) {}

    [[nodiscard]] std::vector<WrittenField> outputs() const { return left_part(this->own_.begin); }
    // The work of all ranks.
    [[nodiscard]] Work work() const {
      return {.bytes = this->ranks_.sum(work_.bytes) + sizeof(std::int64_t), .flops = this->ranks_.sum(work_.flops)};
    }

   private:
    Work work_;
  };
};

VariantRows distributed_compact() { return rows<Partition, DistributedCompact>(); }

}  // namespace tessera::partition
