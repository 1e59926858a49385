/// \file
/// Hillis and Steele's scan of each tile in team scratch (collective/team/hillis_steele.hpp), in the two-level scheme
/// (kernels/two_level_scan.hpp). Its log2(tile) sweeps make more additions than any other variant, but each sweep is
/// one line of code and keeps every thread busy.

#include "../scan_plan.hpp"

#include <array>
#include <cmath>

#include <tessera/collective/team/hillis_steele.hpp>
#include <tessera/kernels/two_level_scan.hpp>

namespace tessera::prefix_sum {

struct HillisSteeleTile : kernels::TileScanInScratch {
  /// The two Views that the sweeps alternate between.
  [[nodiscard]] static std::array<int, 2> scratch(int tile, int) { return {tile, tile}; }
  /// One addition per sweep.
  [[nodiscard]] static double rounding_steps(int tile, int) { return std::ceil(std::log2(tile)); }

  template <class Member, class Values, class Op>
  [[nodiscard]] KOKKOS_FUNCTION static kernels::ScannedTile<Values> run(Member const& team, Values const& tile, int n,
                                                                        Op const& op) {
    Values const other(team.team_scratch(0), tile.extent(0));
    return {team::hillis_steele(team, tile, other, n, op), true, op.identity()};
  }
};

struct HillisSteele {
  static constexpr VariantInfo info{.name = "hillis_steele",
                                    .level = Level::team,
                                    .summary = "tiles scanned in scratch by log2(tile) sweeps, then their totals"};
  template <class Exec, class T, class Op>
  using Scan = kernels::TwoLevelScan<Exec, T, Op, HillisSteeleTile>;
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<HillisSteele, Exec, T>;
};

VariantRows hillis_steele() { return rows<PrefixSum, HillisSteele>(); }

}  // namespace tessera::prefix_sum
