/// \file
/// Scan, scan the totals, add them: the same three steps within a tile (serial runs of a few elements, their totals)
/// and among tiles, recursively. The work-efficient scan that needs no tree: 2 additions an element.

#include "../scan_plan.hpp"

#include <cmath>

#include <tessera/collective/team/run_scan.hpp>
#include <tessera/kernels/two_level_scan.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::prefix_sum {

namespace {

struct RunTile {
  // Odd, so that threads that walk through neighbouring runs hit different banks of a GPU's scratch memory.
  static constexpr int run_length = 7;

  [[nodiscard]] KOKKOS_FUNCTION static int runs(int tile) { return (tile + run_length - 1) / run_length; }
  // The elements, and two buffers of the runs' totals.
  [[nodiscard]] KOKKOS_FUNCTION static int scratch_values(int tile) { return tile + 2 * runs(tile); }

  int tile;

  template <class Member, class Value, class Op>
  [[nodiscard]] KOKKOS_FUNCTION kernels::ScannedTile<Value> run(Member const& team, Value* data, int n,
                                                                Op const& op) const {
    team::run_scan(team, data, data + tile, n, run_length, op);
    return {data, true, op.identity()};
  }
};

template <class Exec, class Elements>
class TwoPhaseScan {
 public:
  using Scalar = typename Elements::Scalar;

  TwoPhaseScan(Exec const& exec, Elements const& elements, std::size_t n, PrefixSum::Parameters const& parameters)
      : tile_(kernels::scratch_tile<Exec>(parameters.tile, 2 * sizeof(typename Elements::Value),
                                          2 * sizeof(typename Elements::Value))),
        scan_("tessera::prefix_sum::two_phase", elements, RunTile{tile_}, n, tile_,
              kernels::team_size(exec, parameters.team), 1) {}

  void operator()(Exec const& exec, Scalar const* in, Scalar* out) const { scan_(exec, in, out); }

  /// On every level a run, the scan of the runs' totals, and one addition to join them; one a level for what lies
  /// before.
  [[nodiscard]] double rounding_steps() const {
    double const within = RunTile::run_length + std::ceil(std::log2(RunTile::runs(tile_) + 1)) + 1;
    return (scan_.levels() + 1) * within + scan_.levels();
  }
  [[nodiscard]] std::string note() const { return "tile " + std::to_string(tile_); }

 private:
  int tile_;
  kernels::TwoLevelScan<Exec, Elements, RunTile> scan_;
};

}  // namespace

struct TwoPhase {
  static constexpr VariantInfo info{
      .name = "two_phase", .level = Level::team, .summary = "serial runs, then their totals; the same among tiles"};
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<TwoPhaseScan, Exec, T>;
};

VariantRows two_phase() { return rows<PrefixSum, TwoPhase>(); }

}  // namespace tessera::prefix_sum
