/// \file
/// Lanes, then threads, then team: each thread scans rows of W elements by lane exchange and carries from row to row,
/// the team scans the threads' totals, and tiles are joined in the two-level scheme. Two barriers a tile instead of
/// log2(tile).

#include "../scan_plan.hpp"

#include <cmath>

#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/kernels/two_level_scan.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::prefix_sum {

namespace {

template <class Exec>
struct LaneTile {
  using Lanes = lane::On<Exec, lane::natural_width<Exec>>;

  int tile;
  int threads;

  // The elements, and a total of each thread.
  [[nodiscard]] KOKKOS_FUNCTION int scratch_values(int) const { return tile + threads; }

  template <class Member, class Value, class Op>
  [[nodiscard]] KOKKOS_FUNCTION kernels::ScannedTile<Value> run(Member const& team, Value* data, int n,
                                                                Op const& op) const {
    team::lane_scan(team, Lanes{}, data, data + tile, n, op);
    return {data, true, op.identity()};
  }
};

template <class Exec, class Elements>
class LaneScanOfTiles {
 public:
  using Scalar = typename Elements::Scalar;
  static constexpr int width = lane::natural_width<Exec>;
  static constexpr int vector_length = lane::vector_length<Exec>(width);

  LaneScanOfTiles(Exec const& exec, Elements const& elements, std::size_t n, PrefixSum::Parameters const& parameters)
      : threads_(kernels::team_size(exec, parameters.team, vector_length)),
        tile_(kernels::scratch_tile<Exec>(parameters.tile, sizeof(typename Elements::Value),
                                          threads_ * sizeof(typename Elements::Value))),
        scan_("tessera::prefix_sum::lane_scan", elements, LaneTile<Exec>{tile_, threads_}, n, tile_, threads_,
              vector_length) {}

  void operator()(Exec const& exec, Scalar const* in, Scalar* out) const { scan_(exec, in, out); }

  /// On every level: a row's scan, the carries from row to row, the scan of threads, and one addition each to join
  /// them.
  [[nodiscard]] double rounding_steps() const {
    double const rows = std::ceil(static_cast<double>(tile_) / (width * threads_));
    double const within =
        std::log2(width) + rows + std::log2(width) + std::ceil(static_cast<double>(threads_) / width) + 2;
    return (scan_.levels() + 1) * within + scan_.levels();
  }
  [[nodiscard]] std::string note() const {
    return "tile " + std::to_string(tile_) + ", " + std::to_string(width) + " lanes";
  }

 private:
  int threads_;
  int tile_;
  kernels::TwoLevelScan<Exec, Elements, LaneTile<Exec>> scan_;
};

}  // namespace

struct LaneScan {
  static constexpr VariantInfo info{.name = "lane_scan",
                                    .level = Level::lane,
                                    .summary = "lanes, then threads, then team; tiles joined by their totals"};
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<LaneScanOfTiles, Exec, T>;
};

VariantRows lane_scan() { return rows<PrefixSum, LaneScan>(); }

}  // namespace tessera::prefix_sum
