/// \file
/// A single pass over the data with decoupled look-back: left elements in their order, right elements from the end of
/// the array backwards, so in reverse order. 2n traffic, one launch. The kernel is kernels/partition.hpp.

#include "../whole_array_plan.hpp"

#include <tessera/kernels/partition.hpp>

namespace tessera::partition {

struct LookBackReversed {
  static constexpr VariantInfo info{.name = "look_back_reversed",
                                    .level = Level::device,
                                    .summary = "single pass: right elements from the end on; needs --right reversed"};
  static constexpr bool reversed = true;
  template <ExecutionSpace Exec, class T>
  using Plan = WholeArrayPlan<LookBackReversed, Exec, T, kernels::LookBackPartitionReversed<Exec, T, LessThanPivot<T>>>;
};

VariantRows look_back_reversed() { return rows<Partition, LookBackReversed>(); }

}  // namespace tessera::partition
