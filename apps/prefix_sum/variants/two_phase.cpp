/// \file
/// Scan, scan the totals, add them: the same three steps within a tile (serial runs of a few elements and their totals,
/// collective/team/run_scan.hpp) and among tiles (kernels/two_level_scan.hpp). It is a work-efficient scan without a
/// tree: 2 additions per element.

#include "../scan_plan.hpp"

#include <array>
#include <cmath>

#include <tessera/collective/team/run_scan.hpp>
#include <tessera/kernels/two_level_scan.hpp>

namespace tessera::prefix_sum {

struct RunTile : kernels::TileScanInScratch {
  // Odd, so that threads that go through neighbouring runs access different banks of a GPU's scratch.
  static constexpr int run_length = 7;

  [[nodiscard]] KOKKOS_FUNCTION static int runs(int tile) { return (tile + run_length - 1) / run_length; }
  [[nodiscard]] static int values_besides(int) { return 2; }
  /// The elements, and two Views of the runs' totals.
  [[nodiscard]] static std::array<int, 3> scratch(int tile, int) { return {tile, runs(tile), runs(tile)}; }
  /// Counts a run, the scan of the runs' totals, and one addition to join them.
  [[nodiscard]] static double rounding_steps(int tile, int) {
    return run_length + std::ceil(std::log2(runs(tile) + 1)) + 1;
  }

  template <class Member, class Values, class Op>
  [[nodiscard]] KOKKOS_FUNCTION static kernels::ScannedTile<Values> run(Member const& team, Values const& tile, int n,
                                                                        Op const& op) {
    int const count = runs(static_cast<int>(tile.extent(0)));
    Values const totals(team.team_scratch(0), count);
    Values const other(team.team_scratch(0), count);
    team::run_scan(team, tile, totals, other, n, run_length, op);
    return {tile, true, op.identity()};
  }
};

struct TwoPhase {
  static constexpr VariantInfo info{
      .name = "two_phase", .level = Level::team, .summary = "serial runs, then their totals; the same among tiles"};
  template <class Exec, class T, class Op>
  using Scan = kernels::TwoLevelScan<Exec, T, Op, RunTile>;
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<TwoPhase, Exec, T>;
};

VariantRows two_phase() { return rows<PrefixSum, TwoPhase>(); }

}  // namespace tessera::prefix_sum
