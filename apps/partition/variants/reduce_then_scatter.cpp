/// \file
/// Count, then scatter: two launches for any size, and 3n traffic, two thirds of it reads. No team waits for another,
/// and no right element is written twice. The kernels are in kernels/partition.hpp.

#include "../whole_array_plan.hpp"

#include <tessera/kernels/partition.hpp>

namespace tessera::partition {

struct ReduceThenScatter {
  static constexpr VariantInfo info{.name = "reduce_then_scatter",
                                    .level = Level::lane,
                                    .summary = "count chunks, then scatter their tiles: 3n traffic"};
  template <ExecutionSpace Exec, class T>
  using Plan = WholeArrayPlan<ReduceThenScatter, Exec, T, kernels::ReduceThenScatter<Exec, T, LessThanPivot<T>>>;
};

VariantRows reduce_then_scatter() { return rows<Partition, ReduceThenScatter>(); }

}  // namespace tessera::partition
