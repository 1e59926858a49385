/// \file
/// A team sums one row after the other: several 16-byte accesses are in flight, then lanes are folded, then threads.
/// For rows long enough to keep a team busy, and enough rows to keep the machine busy. The kernel is
/// kernels/sum_rows.hpp.

#include "../plan.hpp"

#include <tessera/kernels/sum_rows.hpp>

namespace tessera::axis_sum {

template <class Exec, class T>
struct ByTeam : kernels::RowSumTuning<Exec, T> {
  static constexpr auto method = kernels::RowSumMethod::team;
};

struct TeamPerRow {
  static constexpr VariantInfo info{.name = "team_per_row",
                                    .level = Level::team,
                                    .summary = "a team sums a row with 16-byte accesses, then the next of its rows"};
  static constexpr bool in_chunks = false;

  template <ExecutionSpace Exec, class T>
  using Plan = SumPlan<TeamPerRow, 1, Exec, T, kernels::SumRows<Exec, T, ByTeam<Exec, T>>>;
};

VariantRows team_per_row() { return rows<AxisSum, TeamPerRow>(); }

}  // namespace tessera::axis_sum
