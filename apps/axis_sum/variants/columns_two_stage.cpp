/// \file
/// Two launches and no atomics: each team sums its columns over a chunk of rows, then the chunks' sums are added in
/// their order. If there are enough columns to keep the machine busy, there is one chunk and one launch. The kernel is
/// kernels/sum_columns.hpp.

#include "../plan.hpp"

#include <tessera/kernels/sum_columns.hpp>

namespace tessera::axis_sum {

struct ColumnsTwoStage {
  static constexpr VariantInfo info{.name = "columns_two_stage",
                                    .level = Level::team,
                                    .summary = "chunks of rows summed per column, then the chunks: always same bits"};
  static constexpr bool in_chunks = true;

  template <ExecutionSpace Exec, class T>
  using Plan = SumPlan<ColumnsTwoStage, 0, Exec, T, kernels::SumColumns<Exec, T>>;
};

VariantRows columns_two_stage() { return rows<AxisSum, ColumnsTwoStage>(); }

}  // namespace tessera::axis_sum
