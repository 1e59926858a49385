/// \file
/// Hillis and Steele's scan of each tile in team scratch, in the two-level scheme. log2(tile) sweeps: the most
/// additions of all, but each sweep is one line, and every thread is busy in every one.

#include "../scan_plan.hpp"

#include <cmath>

#include <tessera/collective/team/hillis_steele.hpp>
#include <tessera/kernels/two_level_scan.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::prefix_sum {

namespace {

struct HillisSteeleTile {
  // The two buffers that the sweeps alternate between.
  [[nodiscard]] KOKKOS_FUNCTION static int scratch_values(int tile) { return 2 * tile; }

  int tile;

  template <class Member, class Value, class Op>
  [[nodiscard]] KOKKOS_FUNCTION kernels::ScannedTile<Value> run(Member const& team, Value* data, int n,
                                                                Op const& op) const {
    return {team::hillis_steele(team, data, data + tile, n, op), true, op.identity()};
  }
};

template <class Exec, class Elements>
class HillisSteeleScan {
 public:
  using Scalar = typename Elements::Scalar;

  HillisSteeleScan(Exec const& exec, Elements const& elements, std::size_t n, PrefixSum::Parameters const& parameters)
      : tile_(kernels::scratch_tile<Exec>(parameters.tile, 2 * sizeof(typename Elements::Value), 0)),
        scan_("tessera::prefix_sum::hillis_steele", elements, HillisSteeleTile{tile_}, n, tile_,
              kernels::team_size(exec, parameters.team), 1) {}

  void operator()(Exec const& exec, Scalar const* in, Scalar* out) const { scan_(exec, in, out); }

  /// One addition a sweep on every level, and one a level to add what lies before.
  [[nodiscard]] double rounding_steps() const {
    return (scan_.levels() + 1) * std::ceil(std::log2(tile_)) + scan_.levels();
  }
  [[nodiscard]] std::string note() const { return "tile " + std::to_string(tile_); }

 private:
  int tile_;
  kernels::TwoLevelScan<Exec, Elements, HillisSteeleTile> scan_;
};

}  // namespace

struct HillisSteele {
  static constexpr VariantInfo info{.name = "hillis_steele",
                                    .level = Level::team,
                                    .summary = "tiles scanned in scratch by log2(tile) sweeps, then their totals"};
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<HillisSteeleScan, Exec, T>;
};

VariantRows hillis_steele() { return rows<PrefixSum, HillisSteele>(); }

}  // namespace tessera::prefix_sum
