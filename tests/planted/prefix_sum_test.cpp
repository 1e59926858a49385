// Mistakes inside the kernels of prefix_sum: scan.txt and two_level_scan.txt say which.

#include "../../apps/prefix_sum/scan_plan.hpp"
#include "planted/scan.hpp"
#include "planted/two_level_scan.hpp"
#include "planted_rows.hpp"

#include <array>
#include <cmath>

#include <tessera/collective/team/hillis_steele.hpp>

namespace tessera::prefix_sum {
namespace {

struct PlantedLookBack {
  static constexpr VariantInfo info{.name = "look_back", .summary = "a mistake", .deterministic = false};
  template <class Exec, class T, class Op>
  using Scan = planted::LookBackScan<Exec, T, Op>;
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<PlantedLookBack, Exec, T>;
};

struct PlantedReduceThenScan {
  static constexpr VariantInfo info{.name = "reduce_then_scan", .summary = "a mistake"};
  template <class Exec, class T, class Op>
  using Scan = planted::ReduceThenScan<Exec, T, Op>;
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<PlantedReduceThenScan, Exec, T>;
};

struct HillisSteeleTile : planted::TileScanInScratch {
  [[nodiscard]] static std::array<int, 2> scratch(int tile, int) { return {tile, tile}; }
  [[nodiscard]] static double rounding_steps(int tile, int) { return std::ceil(std::log2(tile)); }
  template <class Member, class Values, class Op>
  [[nodiscard]] KOKKOS_FUNCTION static planted::ScannedTile<Values> run(Member const& team, Values const& tile, int n,
                                                                        Op const& op) {
    Values const other(team.team_scratch(0), tile.extent(0));
    return {team::hillis_steele(team, tile, other, n, op), true, op.identity()};
  }
};

struct PlantedTwoLevel {
  static constexpr VariantInfo info{.name = "two_level", .summary = "a mistake"};
  template <class Exec, class T, class Op>
  using Scan = planted::TwoLevelScan<Exec, T, Op, HillisSteeleTile>;
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<PlantedTwoLevel, Exec, T>;
};

TEST(PlantedMistakes, LookBack) { testing::expect_planted_seen<PrefixSum, PlantedLookBack>({1, 2, 3}); }
TEST(PlantedMistakes, ReduceThenScan) { testing::expect_planted_seen<PrefixSum, PlantedReduceThenScan>({4, 5}); }
TEST(PlantedMistakes, TwoLevelScan) { testing::expect_planted_seen<PrefixSum, PlantedTwoLevel>({1, 2, 3}); }

}  // namespace
}  // namespace tessera::prefix_sum
