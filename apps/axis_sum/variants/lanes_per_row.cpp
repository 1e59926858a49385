/// \file
/// Lanes share a row, as many as its length keeps busy: one lane for rows of one or two elements, up to a whole warp
/// for long rows. Neighbouring lanes read neighbouring packs, and every lane has several rows in flight. For many rows
/// of any length. If a row is no whole number of packs, rows are read element by element, still coalesced. The kernel
/// is kernels/sum_rows.hpp.

#include "../plan.hpp"

#include <tessera/kernels/sum_rows.hpp>

namespace tessera::axis_sum {

struct LanesPerRow {
  static constexpr VariantInfo info{.name = "lanes_per_row",
                                    .level = Level::lane,
                                    .summary = "1 to 32 lanes per row by its length, several rows in flight"};

  template <ExecutionSpace Exec, class T>
  using Plan = SumPlan<LanesPerRow, 1, Exec, T,
                       kernels::SumRows<Exec, T, kernels::RowSumTuning<Exec, T, kernels::RowSumMethod::lanes>>>;
};

VariantRows lanes_per_row() { return rows<AxisSum, LanesPerRow>(); }

}  // namespace tessera::axis_sum
