/// \file
/// Blelloch's scan of each tile in team scratch (collective/team/blelloch.hpp), in the two-level scheme
/// (kernels/two_level_scan.hpp): up a tree and down again. Two additions an element, against Hillis and Steele's
/// log2(tile), but 2 log2(tile) barriers and, near the root, idle threads.

#include "../scan_plan.hpp"

#include <array>
#include <cmath>

#include <tessera/collective/team/blelloch.hpp>
#include <tessera/kernels/two_level_scan.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::prefix_sum {

struct BlellochTile : kernels::TileScanInScratch {
  /// A power of two, up to twice the tile, and the total.
  [[nodiscard]] static std::array<int, 1> scratch(int tile, int) { return {team::blelloch_padded(tile) + 1}; }
  /// Up and down the tree.
  [[nodiscard]] static double rounding_steps(int tile, int) { return 2 * std::ceil(std::log2(tile)); }

  template <class Member, class Values, class Op>
  [[nodiscard]] KOKKOS_FUNCTION static kernels::ScannedTile<Values> run(Member const& team, Values const& tile, int n,
                                                                        Op const& op) {
    auto const total = team::blelloch(team, tile, n, op);
    return {tile, false, total};
  }
};

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
