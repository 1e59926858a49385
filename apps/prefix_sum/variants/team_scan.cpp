/// \file
/// Kokkos' own team scan: Kokkos::parallel_scan over a TeamThreadRange, nested in the kernel, scans each tile in
/// scratch, and tiles are joined by their totals (kernels/two_level_scan.hpp). Kokkos calls the loop's body twice per
/// element: first for the threads' totals, then, with `final`, for the results.
///
/// Kokkos has no scan over a TeamVectorRange on GPUs (4.6 and 5.2), so the team's threads have one lane each.

#include "../scan_plan.hpp"

#include <array>

#include <tessera/kernels/two_level_scan.hpp>

namespace tessera::prefix_sum {

// A number whose + is Op, because Kokkos joins the values of a team's threads with + and +=, and begins with 0. On CUDA
// it passes the later value first and has 8 bytes per thread, so Op must commute and T must be at most 8 bytes wide.
template <class T, class Op>
struct Joined {
  static_assert(Op::commutative && sizeof(T) <= 8, "Tessera: a team's scan joins 8 bytes per thread, in any order");
  T value = Op{}.identity();

  KOKKOS_DEFAULTED_FUNCTION Joined() = default;
  KOKKOS_FUNCTION Joined(int /*zero*/) {}
  KOKKOS_FUNCTION Joined& operator+=(Joined const& other) {
    value = Op{}(value, other.value);
    return *this;
  }
  [[nodiscard]] friend KOKKOS_FUNCTION Joined operator+(Joined a, Joined const& b) { return a += b; }
};

struct TeamScanTile : kernels::TileScanInScratch {
  static constexpr int values_per_element = 1;
  [[nodiscard]] static std::array<int, 1> scratch(int tile, int) { return {tile}; }
  /// Kokkos does not specify the order of additions; this is the longest chain of any order.
  [[nodiscard]] static double rounding_steps(int tile, int) { return tile; }

  template <class Member, class Values, class Op>
  [[nodiscard]] KOKKOS_FUNCTION static kernels::ScannedTile<Values> run(Member const& team, Values const& tile, int n,
                                                                        Op const& op) {
    using Running = Joined<typename Values::non_const_value_type, Op>;
    team.team_barrier();
    Kokkos::parallel_scan(Kokkos::TeamThreadRange(team, n), [&](int i, Running& running, bool final) {
      running.value = op(running.value, tile(i));
      if (final) tile(i) = running.value;
    });
    team.team_barrier();  // Kokkos does not guarantee one after a scan
    return {tile, true, op.identity()};
  }
};

// Takes the place of a scan of segments, which need an operator that does not commute.
struct NoSegments {
  template <class... Arguments>
  explicit NoSegments(Arguments const&...) {
    throw Skip("segments (Kokkos' scan of a team joins threads in any order; segments need theirs)");
  }
  void operator()(auto const&...) const {}
  [[nodiscard]] static double rounding_steps() { return 0; }
  [[nodiscard]] static std::string note() { return {}; }
};

struct TeamScan {
  static constexpr VariantInfo info{.name = "team_scan",
                                    .level = Level::team,
                                    .summary = "tiles scanned in scratch by Kokkos' scan of a team, then their totals"};
  template <class Exec, class T, class Op>
  using Scan = std::conditional_t<kernels::ScanElements<T, Op>::commutative,
                                  kernels::TwoLevelScan<Exec, T, Op, TeamScanTile>, NoSegments>;
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<TeamScan, Exec, T>;
};

VariantRows team_scan() { return rows<PrefixSum, TeamScan>(); }

}  // namespace tessera::prefix_sum
