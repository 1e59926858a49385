/// \file
/// Reduce, scan the totals, scan again: three launches for any size, and 3n traffic. Every team owns one contiguous
/// chunk of register tiles. There are only as many chunks as fill the machine, so one team can scan all their totals.
/// The kernels are in kernels/scan.hpp.

#include "../scan_plan.hpp"

#include <tessera/kernels/scan.hpp>

namespace tessera::prefix_sum {

struct ReduceThenScan {
  static constexpr VariantInfo info{.name = "reduce_then_scan",
                                    .level = Level::lane,
                                    .summary = "reduce chunks, scan their totals, scan the chunks: 3n traffic"};
  template <class Exec, class T, class Op>
  using Scan = kernels::ReduceThenScan<Exec, T, Op>;
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<ReduceThenScan, Exec, T>;
};

VariantRows reduce_then_scan() { return rows<PrefixSum, ReduceThenScan>(); }

}  // namespace tessera::prefix_sum
