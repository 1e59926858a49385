/// \file
/// Stream compaction: only the left elements are kept. A single pass with decoupled look-back reads n elements and
/// writes the left elements; the rest of `values` is not changed. The kernel is kernels/partition.hpp.

#include "../compaction.hpp"
#include "../whole_array_plan.hpp"

#include <tessera/kernels/partition.hpp>

namespace tessera::partition {

struct Compact {
  static constexpr VariantInfo info{.name = "compact",
                                    .level = Level::device,
                                    .summary = "stream compaction in a single pass: writes only the left part"};
  static constexpr bool left_alone = true;
  template <ExecutionSpace Exec, class T>
  class Plan : public WholeArrayPlan<Compact, Exec, T, kernels::LookBackCompaction<Exec, T, LessThanPivot<T>>> {
   public:
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input)
        : Plan::WholeArrayPlan((expect_one_segment(input.parameters, input.in.extent(0)), exec), input),
          work_(compaction_work<Exec, T>(exec, input)) {}

    [[nodiscard]] std::vector<WrittenField> outputs() const { return left_part(0); }
    // The constructor counts the left elements; it is not timed.
    [[nodiscard]] Work work() const { return {.bytes = work_.bytes + sizeof(std::int64_t), .flops = work_.flops}; }

   private:
    Work work_;
  };
};

VariantRows compact() { return rows<Partition, Compact>(); }

}  // namespace tessera::partition
