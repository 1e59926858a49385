/// \file
/// A launch that counts the left elements, then a single pass with decoupled look-back: 3n traffic, two thirds of it
/// reads. The kernel is kernels/partition.hpp.

#include "../whole_array_plan.hpp"

#include <tessera/kernels/partition.hpp>

namespace tessera::partition {

struct LookBack {
  static constexpr VariantInfo info{.name = "look_back",
                                    .level = Level::device,
                                    .summary = "a count, then a single pass: tiles look back at their predecessors"};
  template <ExecutionSpace Exec, class T>
  using Plan = WholeArrayPlan<LookBack, Exec, T, kernels::LookBackPartition<Exec, T, LessThanPivot<T>>>;
};

VariantRows look_back() { return rows<Partition, LookBack>(); }

}  // namespace tessera::partition
