/// \file
/// Each team sums its columns over a chunk of rows and adds the sums to the output with atomics; the output is set to
/// zero first. The comparison with columns_two_stage shows what two stages cost and save. The kernel is
/// kernels/sum_columns.hpp.

#include "../plan.hpp"

#include <tessera/kernels/sum_columns.hpp>

namespace tessera::axis_sum {

struct ColumnsAtomic {
  template <class Exec, class T>
  struct Tuning : kernels::ColumnSumTuning<Exec, T> {
    static constexpr bool atomic = true;
  };

  static constexpr VariantInfo info{.name = "columns_atomic",
                                    .level = Level::team,
                                    .summary = "chunks of rows summed per column, then added by atomics",
                                    .deterministic = false};
  static constexpr bool in_chunks = true;

  template <ExecutionSpace Exec, class T>
    requires(!ShortFloat<T>)  // each sum that is added would be rounded
  struct Plan : SumPlan<ColumnsAtomic, 0, Exec, T, kernels::SumColumns<Exec, T, Tuning<Exec, T>>> {
    static constexpr bool atomic_sums = true;

    using Plan::SumPlan::SumPlan;
  };
};

VariantRows columns_atomic() { return rows<AxisSum, ColumnsAtomic>(); }

}  // namespace tessera::axis_sum
