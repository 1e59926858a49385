/// \file
/// Blelloch's scan of each tile in team scratch (collective/team/blelloch.hpp), in the two-level scheme
/// (kernels/two_level_scan.hpp): up a tree and down again. It needs two additions per element (Hillis and Steele's scan
/// needs log2(tile)), but 2 log2(tile) barriers, and threads are idle near the root.

#include "../blelloch_tile.hpp"
#include "../scan_plan.hpp"

namespace tessera::prefix_sum {

struct Blelloch {
  static constexpr VariantInfo info{.name = "blelloch",
                                    .level = Level::team,
                                    .summary = "tiles scanned in scratch up and down a tree, then their totals"};
  template <class Exec, class T, class Op>
  using Scan = kernels::TwoLevelScan<Exec, T, Op, BlellochTile>;
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<Blelloch, Exec, T>;
};

VariantRows blelloch() { return rows<PrefixSum, Blelloch>(); }

}  // namespace tessera::prefix_sum
