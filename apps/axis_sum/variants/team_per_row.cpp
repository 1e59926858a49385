/// \file
/// A team sums one row after the other: several 16-byte accesses are in flight, then lanes are folded, then threads.
/// For rows long enough to keep a team busy, and enough rows to keep the machine busy. The kernel is
/// kernels/sum_rows.hpp.

#include "../plan.hpp"

#include <tessera/kernels/sum_rows.hpp>

namespace tessera::axis_sum {

struct TeamPerRow {
  static constexpr VariantInfo info{.name = "team_per_row",
                                    .level = Level::team,
                                    .summary = "a team sums a row with 16-byte accesses, then the next of its rows"};

  template <ExecutionSpace Exec, class T>
  using Plan = SumPlan<TeamPerRow, 1, Exec, T,
                       kernels::SumRows<Exec, T, kernels::RowSumTuning<Exec, T, kernels::RowSumMethod::team>>>;
};

VariantRows team_per_row() { return rows<AxisSum, TeamPerRow>(); }

}  // namespace tessera::axis_sum
