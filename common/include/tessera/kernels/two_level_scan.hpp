#pragma once
/// \file
/// A scan of any length, built from a team's scan of one tile in scratch: scan every tile, scan the tiles' totals, and
/// add these to the tiles. The totals are scanned in the same way, level by level, until one tile holds them. The
/// result is correct for any number of elements, because every tile gets the total of all tiles before it, not only of
/// its neighbour.
///
/// Traffic: 2n to scan the tiles, 2n to add (n = bytes of the input), twice the minimum; scan.hpp has faster kernels.
/// Launches: 2L + 1 with L levels of totals; L is 0 for a single tile.
///
/// Example, tiles of 3, sum: 1 1 1 1 1 1 1 1 -> tiles 1 2 3 | 1 2 3 | 1 2, totals 3 3 2 -> 3 6 8
/// -> 1 2 3 | 4 5 6 | 7 8.
///
/// Use:  TwoLevelScan<Exec, float, collective::Sum<float>, MyTile> scan(exec, n);  scan(exec, in, out);

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/detail/scan/scan_elements.hpp>

namespace tessera::kernels {

/// The result of a scan of a tile in scratch: its location, whether it is inclusive or exclusive, and the total.
template <class Values>
struct ScannedTile {
  using V = typename Values::non_const_value_type;
  Values data;
  bool inclusive;
  V total;  ///< of the whole tile; only required if `!inclusive`

  /// Returns the scan before element i of the tile.
  [[nodiscard]] KOKKOS_FUNCTION V before(int i, V const& identity) const {
    if (!inclusive) return data(i);
    return i > 0 ? data(i - 1) : identity;
  }
  /// Returns the scan up to and including element i of n.
  [[nodiscard]] KOKKOS_FUNCTION V through(int i, int n) const {
    if (inclusive) return data(i);
    return i + 1 < n ? data(i + 1) : total;
  }
};

/// A base for a TileScan (see TwoLevelScan) that has one lane per thread and two values in scratch per element, and
/// keeps the elements in order.
struct TileScanInScratch {
  template <class Values>
  using Tile = Values;
  static constexpr int lanes = 1;
  static constexpr int values_per_element = 2;
  [[nodiscard]] static int values_besides(int) { return 0; }
};

namespace detail {

/// One launch: each team scans one tile of `in` in scratch and writes it to `out`, and the tile's total to `totals`
/// (unless that is empty). `in` and `out` may be the same.
template <class Exec, class Elements, class TileScan>
struct ScanTiles {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Scalar = typename Elements::Scalar;
  using Value = typename Elements::Value;
  template <class T>
  using Flat = Kokkos::View<T*, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Scratch = ScratchView<Value*, Exec>;
  using Tile = typename TileScan::template Tile<Scratch>;

  Elements elements;
  Flat<Scalar const> in;
  Flat<Scalar> out;
  Flat<Value> totals;
  int tile;
  int tile_values;  // length of the tile's View in scratch, at least the tile's elements

  [[nodiscard]] static std::size_t scratch_bytes(int tile, int threads) {
    std::size_t bytes = 0;
    for (int const values : TileScan::scratch(tile, threads)) bytes += Scratch::shmem_size(values);
    return bytes;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    auto const op = elements.op();
    std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * tile;
    std::size_t const n = in.extent(0);
    int const count = n - begin < static_cast<std::size_t>(tile) ? static_cast<int>(n - begin) : tile;
    Tile const values{Scratch(team.team_scratch(0), tile_values)};
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count),
                         [&](int i) { values(i) = elements.lift(begin + i, in(begin + i)); });
    ScannedTile<Tile> const scanned = TileScan::run(team, values, count, op);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count), [&](int i) {
      out(begin + i) = elements.lower(begin + i, scanned.before(i, op.identity()), scanned.through(i, count));
    });
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      if (totals.extent(0) > 0) totals(team.league_rank()) = scanned.through(count - 1, count);
    });
    leave_scratch(team);
  }
};

/// One launch: adds the total before a tile to every element of the tile, for every tile except the first. Index: the
/// element.
template <class Elements, class Out, class Totals>
struct AddTotals {
  Elements elements;
  Out out;
  Totals totals;  // inclusively scanned
  std::size_t tile;

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const own = i / tile;
    out(i) = elements.add_before(i, own * tile, totals(own - 1), out(i));
  }
};

}  // namespace detail

/// The scan. `in` and `out` [n] must be contiguous; they may be the same View, but must not overlap otherwise.
///
/// TileScan is a team's scan of one tile, a type with
///   static constexpr int lanes;                                // per thread
///   static constexpr int values_per_element;                   // in scratch; determines the size of tiles
///   static int values_besides(int threads);                    // additional values in scratch, for any tile
///   template <class Values> using Tile;                        // of a View in scratch: maps an index to a place in it
///   static std::array<int, N> scratch(int tile, int threads);  // lengths of its Views in scratch, the tile's first
///   static double rounding_steps(int tile, int threads);       // on the longest path through one tile
///   static ScannedTile<Values> run(team, Values tile, int n, op);  // Values: its Tile
/// `run` scans tile(0) .. tile(n-1), and takes its other Views from the team's scratch; its result is valid for every
/// thread. It needs a barrier before it reads the tile.
///
/// Construct it once: chooses the tile, and allocates the levels' totals. Throws Skip for tiles of one element and for
/// tiles that do not fit into scratch. A call only enqueues; calls on one object must not run concurrently. Op,
/// elements, tile and team as for LookBackScan (scan.hpp).
template <ExecutionSpace Exec, class T, class Op, class TileScan>
class TwoLevelScan {
  using Elements = ScanElements<T, Op>;
  using Value = typename Elements::Value;
  using Totals = ScanElements<Value, Op>;
  static constexpr int vector_length = lane::vector_length<Exec>(TileScan::lanes);

 public:
  explicit TwoLevelScan(Exec const& exec, std::size_t n, Elements const& elements = {}, std::int64_t tile = 0,
                        std::int64_t team = 0, std::string label = "tessera::two_level_scan")
      : label_(std::move(label)),
        elements_(elements),
        n_(n),
        threads_(team_size(exec, team, vector_length)),
        tile_(scratch_tile<Exec>(tile, TileScan::values_per_element * sizeof(Value),
                                 TileScan::values_besides(threads_) * sizeof(Value))) {
    if (tile_ < 2) throw Skip("tiles of one element (each level would have as many totals as elements)");
    require_scratch<Exec>(detail::ScanTiles<Exec, Elements, TileScan>::scratch_bytes(tile_, threads_));
    for (std::size_t count = tiles_of(n, tile_); count > 1; count = tiles_of(count, tile_)) {
      totals_.emplace_back(unset(label_ + "::totals"), count);
    }
  }

  /// Returns the number of levels of totals above the elements.
  [[nodiscard]] int levels() const { return static_cast<int>(totals_.size()); }

  /// Enqueues the scan. Throws std::invalid_argument if a View is strided or its length is not n.
  template <Readable<Exec, T, 1> In, Writable<Exec, T, 1> Out>
  void operator()(Exec const& exec, In const& in, Out const& out) const {
    scan(exec, in, out, totals_of(0));
  }

  /// As above; also stores the total of each tile: `kept` [tiles()], which must not overlap the others. Throws
  /// std::invalid_argument if it is strided or has another length.
  template <Readable<Exec, T, 1> In, Writable<Exec, T, 1> Out, Writable<Exec, T, 1> Kept>
    requires std::is_same_v<Value, T>
  void operator()(Exec const& exec, In const& in, Out const& out, Kept const& kept) const {
    scan(exec, in, out, Flat<Value>(contiguous(kept, tiles()), tiles()));
  }

  /// Returns the number of tiles.
  [[nodiscard]] std::size_t tiles() const { return tiles_of(n_, tile_); }

  /// Returns the roundings on the longest path to a result: a tile's roundings on every level, and one per level to add
  /// the total before.
  [[nodiscard]] double rounding_steps() const {
    return (levels() + 1) * TileScan::rounding_steps(tile_, threads_) + levels();
  }
  [[nodiscard]] std::string note() const {
    std::string const tile = "tile " + std::to_string(tile_);
    return TileScan::lanes == 1 ? tile : tile + ", " + std::to_string(TileScan::lanes) + " lanes";
  }

 private:
  template <class V>
  using Flat = Kokkos::View<V*, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using TotalsView = Kokkos::View<Value*, typename Exec::memory_space>;

  /// The scan. The tiles' totals go to `of_tiles`; if that is the caller's View, it keeps the total of each tile.
  template <class In, class Out>
  void scan(Exec const& exec, In const& in, Out const& out, Flat<Value> const& of_tiles) const {
    Flat<T> const to(contiguous(out, n_), n_);
    Flat<T const> const from(contiguous(in, n_), n_);
    if (n_ == 0) return;
    scan_tiles(exec, elements_, from, to, of_tiles);
    Totals const totals{elements_.op()};
    for (std::size_t level = 0; level < totals_.size(); ++level) {
      scan_tiles(exec, totals, level == 0 ? of_tiles : totals_of(level), totals_[level], totals_of(level + 1));
    }
    for (std::size_t level = totals_.size(); level-- > 1;) {
      add_totals(exec, totals, totals_[level - 1], totals_[level]);
    }
    if (!totals_.empty()) add_totals(exec, elements_, to, totals_[0]);
  }

  /// Returns the View for the totals of a level's tiles, which is empty if there is one tile.
  [[nodiscard]] Flat<Value> totals_of(std::size_t level) const {
    return level < totals_.size() ? Flat<Value>(totals_[level]) : Flat<Value>();
  }

  template <class LevelElements>
  void scan_tiles(Exec const& exec, LevelElements const& elements, Flat<typename LevelElements::Scalar const> const& in,
                  Flat<typename LevelElements::Scalar> const& out, Flat<Value> const& totals) const {
    using Kernel = detail::ScanTiles<Exec, LevelElements, TileScan>;
    Kernel const kernel{elements, in, out, totals, tile_, TileScan::scratch(tile_, threads_)[0]};
    typename Kernel::Policy policy(exec, static_cast<int>(tiles_of(in.extent(0), tile_)), threads_, vector_length);
    Kokkos::parallel_for(label_ + "::tiles", with_scratch(policy, Kernel::scratch_bytes(tile_, threads_)), kernel);
  }

  template <class LevelElements, class Out>
  void add_totals(Exec const& exec, LevelElements const& elements, Out const& out, TotalsView const& totals) const {
    Kokkos::parallel_for(
        label_ + "::add", Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, tile_, out.extent(0)),
        detail::AddTotals<LevelElements, Out, TotalsView>{elements, out, totals, static_cast<std::size_t>(tile_)});
  }

  std::string label_;
  Elements elements_;
  std::size_t n_;
  int threads_;
  int tile_;
  std::vector<TotalsView> totals_;
};

}  // namespace tessera::kernels
