/// \file
/// A single pass: every team scans one register tile and reads the sum before it from its predecessors (decoupled
/// look-back). One launch, and 2n traffic, which is the minimum. The kernel is kernels/scan.hpp.

#include "../scan_plan.hpp"

#include <tessera/kernels/scan.hpp>

namespace tessera::prefix_sum {

struct LookBack {
  static constexpr VariantInfo info{.name = "look_back",
                                    .level = Level::device,
                                    .summary = "single pass, 2n traffic: tiles look back at their predecessors",
                                    // The order of additions depends on what earlier tiles have published so far.
                                    .deterministic = false,
                                    .ordered_by = "arrival"};
  template <class Exec, class T, class Op>
  using Scan = kernels::LookBackScan<Exec, T, Op>;
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<LookBack, Exec, T>;
};

VariantRows look_back() { return rows<PrefixSum, LookBack>(); }

}  // namespace tessera::prefix_sum
