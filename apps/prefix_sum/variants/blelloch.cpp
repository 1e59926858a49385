/// \file
/// Blelloch's scan of each tile in team scratch, in the two-level scheme: up a tree and down again. Twice as many
/// additions as elements, against Hillis and Steele's log2(tile) times, but 2 log2(tile) barriers and, near the root,
/// idle threads.

#include "../scan_plan.hpp"

#include <cmath>

#include <tessera/collective/team/blelloch.hpp>
#include <tessera/kernels/two_level_scan.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::prefix_sum {

namespace {

struct BlellochTile {
  // Padded to a power of two, and the total.
  [[nodiscard]] KOKKOS_FUNCTION static int scratch_values(int tile) { return team::blelloch_padded(tile) + 1; }

  template <class Member, class Value, class Op>
  [[nodiscard]] KOKKOS_FUNCTION kernels::ScannedTile<Value> run(Member const& team, Value* data, int n,
                                                                Op const& op) const {
    Value const total = team::blelloch(team, data, n, op);
    return {data, false, total};
  }
};

template <class Exec, class Elements>
class BlellochScan {
 public:
  using Scalar = typename Elements::Scalar;

  // Twice the bytes: a user's tile may be just above a power of two.
  BlellochScan(Exec const& exec, Elements const& elements, std::size_t n, PrefixSum::Parameters const& parameters)
      : tile_(kernels::scratch_tile<Exec>(parameters.tile, 2 * sizeof(typename Elements::Value), 0)),
        scan_("tessera::prefix_sum::blelloch", elements, BlellochTile{}, n, tile_,
              kernels::team_size(exec, parameters.team), 1) {}

  void operator()(Exec const& exec, Scalar const* in, Scalar* out) const { scan_(exec, in, out); }

  /// Up and down the tree on every level, and one addition a level for what lies before.
  [[nodiscard]] double rounding_steps() const {
    return (scan_.levels() + 1) * 2 * std::ceil(std::log2(tile_)) + scan_.levels();
  }
  [[nodiscard]] std::string note() const { return "tile " + std::to_string(tile_); }

 private:
  int tile_;
  kernels::TwoLevelScan<Exec, Elements, BlellochTile> scan_;
};

}  // namespace

struct Blelloch {
  static constexpr VariantInfo info{.name = "blelloch",
                                    .level = Level::team,
                                    .summary = "tiles scanned in scratch up and down a tree, then their totals"};
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<BlellochScan, Exec, T>;
};

VariantRows blelloch() { return rows<PrefixSum, Blelloch>(); }

}  // namespace tessera::prefix_sum
