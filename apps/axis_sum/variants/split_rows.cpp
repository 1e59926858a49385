/// \file
/// Several teams share a row: rows are cut into enough chunks to fill the machine, and the last team of a row to finish
/// folds the row's partial sums, in their order. For few, very long rows; with many rows it does the same as
/// team_per_row. The kernel is kernels/sum_rows.hpp.

#include "../plan.hpp"

#include <tessera/kernels/sum_rows.hpp>

namespace tessera::axis_sum {

struct SplitRows {
  static constexpr VariantInfo info{.name = "split_rows",
                                    .level = Level::device,
                                    .summary = "several teams per row; a row's last team folds its partial sums"};
  static constexpr bool in_chunks = true;

  template <ExecutionSpace Exec, class T>
  using Plan = SumPlan<SplitRows, 1, Exec, T,
                       kernels::SumRows<Exec, T, kernels::RowSumTuning<Exec, T, kernels::RowSumMethod::teams>>>;
};

VariantRows split_rows() { return rows<AxisSum, SplitRows>(); }

}  // namespace tessera::axis_sum
