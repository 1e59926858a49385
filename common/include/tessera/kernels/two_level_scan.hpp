#pragma once
/// \file
/// Device-wide scan around a team's scan: scan every tile, scan the tiles' totals, add them. The totals are scanned the
/// same way, level upon level, until one tile holds them, so any number of elements is right: every tile gets the total
/// of all tiles before it, not of its neighbour only.
///
/// Traffic: 2n to scan the tiles, 2n to add (n = bytes of the input): twice the least. Launches: 2L + 1 with L levels of
/// totals, none of them for a single tile.
///
/// Example, tiles of 3, sum: 1 1 1 1 1 1 1 1 -> tiles 1 2 3 | 1 2 3 | 1 2, totals 3 3 2 -> 3 6 8
/// -> 1 2 3 | 4 5 6 | 7 8.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/scan_elements.hpp>
#include <tessera/kernels/team_shape.hpp>

namespace tessera::kernels {

/// Where a scan of a tile in scratch left its result: inclusively or exclusively, and the total.
template <class V>
struct ScannedTile {
  V const* data;
  bool inclusive;
  V total;  ///< of the whole tile; need only be set if `!inclusive`

  /// What lies before element i of the tile.
  [[nodiscard]] KOKKOS_FUNCTION V before(int i, V const& identity) const {
    if (!inclusive) return data[i];
    return i > 0 ? data[i - 1] : identity;
  }
  /// The scan with element i, of n.
  [[nodiscard]] KOKKOS_FUNCTION V through(int i, int n) const {
    if (inclusive) return data[i];
    return i + 1 < n ? data[i + 1] : total;
  }
};

/// One launch: every team scans one tile of `in` in scratch and writes it to `out`, and the tile's total to `totals`
/// (if there is more than one tile). `in` and `out` may be the same.
///
/// `TileScan` is a team's scan: `TileScan::scratch_values(tile)` values of scratch, of which the first `tile` are
/// filled, and `TileScan::run(team, scratch, n, op) -> ScannedTile`, valid for every thread.
template <class Exec, class Elements, class TileScan>
struct ScanTiles {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Scalar = typename Elements::Scalar;
  using Value = typename Elements::Value;
  using Scratch = Kokkos::View<Value*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  Elements elements;
  TileScan tile_scan;
  Scalar const* in;
  Scalar* out;
  Value* totals;  // null: not wanted
  std::size_t n;
  int tile;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    auto const op = elements.op();
    std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * tile;
    int const count = n - begin < static_cast<std::size_t>(tile) ? static_cast<int>(n - begin) : tile;
    Scratch const scratch(team.team_scratch(0), tile_scan.scratch_values(tile));
    Value* const data = scratch.data();
    for (int i = lane_rank(team); i < count; i += lane_count(team)) data[i] = elements.lift(begin + i, in[begin + i]);
    ScannedTile<Value> const scanned = tile_scan.run(team, data, count, op);
    for (int i = lane_rank(team); i < count; i += lane_count(team)) {
      out[begin + i] = elements.lower(begin + i, scanned.before(i, op.identity()), scanned.through(i, count));
    }
    if (totals != nullptr && lane_rank(team) == 0) totals[team.league_rank()] = scanned.through(count - 1, count);
    // The next tile of this team (hosts loop over the league) overwrites the scratch.
    team.team_barrier();
  }

 private:
  // All vector lanes of all threads, for loops over the tile.
  [[nodiscard]] KOKKOS_FUNCTION static int lane_rank(Member const& team) {
    (void)team;
    KOKKOS_IF_ON_DEVICE((return static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);))
    KOKKOS_IF_ON_HOST((return team.team_rank();))
  }
  [[nodiscard]] KOKKOS_FUNCTION static int lane_count(Member const& team) {
    (void)team;
    KOKKOS_IF_ON_DEVICE((return static_cast<int>(blockDim.y * blockDim.x);))
    KOKKOS_IF_ON_HOST((return team.team_size();))
  }
};

/// One launch: adds to every element of every tile but the first what lies before the tile. Index: the element.
template <class Elements>
struct AddTotals {
  Elements elements;
  typename Elements::Scalar* out;
  typename Elements::Value const* totals;  // inclusively scanned
  std::size_t tile;

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const own = i / tile;
    out[i] = elements.add_before(i, own * tile, totals[own - 1], out[i]);
  }
};

/// The recursive scheme. Construct once (allocates the levels' totals), enqueue as often as wanted.
template <class Exec, class Elements, class TileScan>
class TwoLevelScan {
 public:
  using Scalar = typename Elements::Scalar;
  using Value = typename Elements::Value;
  using Totals = TotalElements<Value, typename std::decay_t<decltype(std::declval<Elements const&>().op())>>;

  /// \param label kernels are named `label::tiles` and `label::add`
  /// Throws Skip if the tile is below 2.
  /// \param team_size threads a team, \param vector_length lanes of each
  TwoLevelScan(std::string label, Elements const& elements, TileScan const& tile_scan, std::size_t n, int tile,
               int team_size, int vector_length)
      : label_(std::move(label)),
        elements_(elements),
        tile_scan_(tile_scan),
        n_(n),
        tile_(tile),
        team_size_(team_size),
        vector_length_(vector_length) {
    if (tile < 2) throw Skip("tiles of one element (as many totals as elements: they would never become one)");
    for (std::size_t count = tiles_of(n, tile); count > 1; count = tiles_of(count, tile)) {
      totals_.emplace_back(Kokkos::view_alloc(Kokkos::WithoutInitializing, label_ + "::totals"), count);
    }
  }

  /// Levels of totals above the elements.
  [[nodiscard]] int levels() const { return static_cast<int>(totals_.size()); }

  /// Enqueues the scan of in[0, n) to out[0, n).
  void operator()(Exec const& exec, Scalar const* in, Scalar* out) const {
    if (n_ == 0) return;
    scan_tiles(exec, elements_, in, out, n_, 0);
    Totals const totals{elements_.op()};
    for (std::size_t level = 0; level < totals_.size(); ++level) {
      Value* const data = totals_[level].data();
      scan_tiles(exec, totals, data, data, totals_[level].extent(0), level + 1);
    }
    for (std::size_t level = totals_.size(); level-- > 1;) {
      add_totals(exec, totals, totals_[level - 1].data(), totals_[level - 1].extent(0), totals_[level].data());
    }
    if (!totals_.empty()) add_totals(exec, elements_, out, n_, totals_[0].data());
  }

 private:
  template <class LevelElements>
  void scan_tiles(Exec const& exec, LevelElements const& elements, typename LevelElements::Scalar const* in,
                  typename LevelElements::Scalar* out, std::size_t n, std::size_t level) const {
    using Kernel = ScanTiles<Exec, LevelElements, TileScan>;
    Kernel const kernel{elements, tile_scan_, in, out, level < totals_.size() ? totals_[level].data() : nullptr,
                        n,        tile_};
    std::size_t const scratch = Kernel::Scratch::shmem_size(tile_scan_.scratch_values(tile_));
    typename Kernel::Policy policy(exec, static_cast<int>(tiles_of(n, tile_)), team_size_, vector_length_);
    Kokkos::parallel_for(label_ + "::tiles", policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(scratch))),
                         kernel);
  }

  template <class LevelElements>
  void add_totals(Exec const& exec, LevelElements const& elements, typename LevelElements::Scalar* out, std::size_t n,
                  Value const* totals) const {
    Kokkos::parallel_for(label_ + "::add", Kokkos::RangePolicy<Exec>(exec, tile_, n),
                         AddTotals<LevelElements>{elements, out, totals, static_cast<std::size_t>(tile_)});
  }

  using TotalsView = Kokkos::View<Value*, typename Exec::memory_space>;

  std::string label_;
  Elements elements_;
  TileScan tile_scan_;
  std::size_t n_;
  int tile_;
  int team_size_;
  int vector_length_;
  std::vector<TotalsView> totals_;
};

}  // namespace tessera::kernels
