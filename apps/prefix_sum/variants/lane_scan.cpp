/// \file
/// Lanes, then threads, then the team (collective/team/lane_scan.hpp): each thread scans rows of W elements by lane
/// exchanges and carries the sum from row to row, the team scans the threads' totals, and the two-level scheme joins
/// the tiles (kernels/two_level_scan.hpp). A tile takes two barriers instead of log2(tile).

#include "../scan_plan.hpp"

#include <array>
#include <cmath>

#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/kernels/two_level_scan.hpp>

namespace tessera::prefix_sum {

template <class Exec>
struct LaneTile : kernels::TileScanInScratch {
  using Lanes = lane::On<Exec, lane::natural_width<Exec>>;
  static constexpr int lanes = Lanes::width;
  static constexpr int values_per_element = 1;

  /// One total per thread.
  [[nodiscard]] static int values_besides(int threads) { return threads; }
  [[nodiscard]] static std::array<int, 2> scratch(int tile, int threads) { return {tile, threads}; }
  /// Counts a row's scan, the carries from row to row, the scan of threads, and one addition each to join them.
  [[nodiscard]] static double rounding_steps(int tile, int threads) {
    double const rows = std::ceil(static_cast<double>(tile) / (lanes * threads));
    return std::log2(lanes) + rows + std::log2(lanes) + std::ceil(static_cast<double>(threads) / lanes) + 2;
  }

  template <class Member, class Values, class Op>
  [[nodiscard]] KOKKOS_FUNCTION static kernels::ScannedTile<Values> run(Member const& team, Values const& tile, int n,
                                                                        Op const& op) {
    Values const totals(team.team_scratch(0), team.team_size());
    team::lane_scan(team, Lanes{}, tile.data(), totals.data(), n, op);
    return {tile, true, op.identity()};
  }
};

struct LaneScan {
  static constexpr VariantInfo info{.name = "lane_scan",
                                    .level = Level::lane,
                                    .summary = "lanes, then threads, then team; tiles joined by their totals"};
  template <class Exec, class T, class Op>
  using Scan = kernels::TwoLevelScan<Exec, T, Op, LaneTile<Exec>>;
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<LaneScan, Exec, T>;
};

VariantRows lane_scan() { return rows<PrefixSum, LaneScan>(); }

}  // namespace tessera::prefix_sum
