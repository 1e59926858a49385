#pragma once
/// \file
/// Sorts each segment of an array by itself: segment r has the keys offsets[r] to offsets[r + 1] - 1. Values of 32 or
/// 64 bits move with their keys. Stable. Segments have any lengths, and cost what their keys cost.
///
/// - `borders`: for each tile of the array, a search in the offsets finds the segment of its first key.
/// - `tiles`: a team sorts a tile in scratch. A lane sorts a chunk by segment and key. Segments that cross borders of
///   chunks are then merged, as in the next step. All segments that lie in a tile are then sorted.
/// - `merge`: a segment that crosses borders of tiles is sorted in each of its tiles. Pass k merges pairs of runs of
///   2^k of its tiles, divided among teams by merge paths. A segment in m tiles takes part in ceil(log2(m)) passes; a
///   team whose tile has no such segment returns at once. Runs alternate between result and spare array. A segment
///   starts where its last pass ends in the result, so that no pass copies other segments.
///
/// No launch waits for the host: the number of passes follows from the longest possible segment. Source of the merge:
/// O. Green, R. McColl, D. Bader: GPU Merge Path (2012).
///
/// Order (collective/key_order.hpp): integers by value; floats by value, NaN last, -0 and 0 equal. `descending`: the
/// largest first, NaN last. Equal keys keep their order; keys keep their bits.
///
/// Traffic: keys and values are read and written once, and once more in each pass of their segment. Memory: a spare
/// copy of keys and values, and 24 bytes per tile.
///
/// Example, tiles of 4: keys 4 1 3 2 0 9 8 7, offsets 0 1 6 8 -> tiles 4 | 1 2 3 and 0 9 | 7 8 -> merged
/// 4 | 0 1 2 3 9 | 7 8.
///
/// Use:  sort_segments(exec, keys, offsets, sorted);
///       sort_segment_pairs(exec, keys, values, offsets, sorted, sorted_values);
/// or, enqueued many times:  SortSegments<Exec, float> sort(exec, n, rows);  sort(exec, keys, offsets, sorted);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <tessera/collective/key_order.hpp>
#include <tessera/collective/merge_path.hpp>
#include <tessera/collective/sort_items.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/detail/sort/bin_tuning.hpp>

namespace tessera::kernels {

/// Tuning parameters of SortSegments.
template <ExecutionSpace Exec, class Key>
struct SortSegmentsTuning {
  /// Keys of a chunk, which a lane sorts in registers and merges. An odd number, so that lanes that read the same place
  /// of their chunks read from different banks.
  static constexpr int chunk = is_gpu<Exec> ? 7 : 16;
  /// Chunks of a tile: one per lane on a GPU, where tile and copy take 28 KiB of scratch, so that several teams share a
  /// multiprocessor. On a host they take 16 KiB of the first-level cache.
  static constexpr int chunks = (is_gpu<Exec> ? 1024 : 256) / static_cast<int>(sizeof(Key));
};

namespace detail {

/// The keys `begin` to `end - 1` of a segment that crosses a border of units: chunks of a tile, or tiles. There is none
/// if begin = end = 0.
template <class Index>
struct CrossingSegment {
  Index begin;
  Index end;

  /// Returns the number of passes that join the runs of the segment: ceil(log2(units)).
  [[nodiscard]] KOKKOS_FUNCTION int passes(std::int64_t unit) const {
    if (begin >= end) return 0;
    std::int64_t const more = (end - 1) / unit - begin / unit;
    int passes = 0;
    while ((more >> passes) > 0) ++passes;
    return passes;
  }
};

/// Two runs that a pass merges, `begin` to `middle - 1` and `middle` to `end - 1`. Runs are whole units, counted from
/// the segment's first one.
struct PairOfRuns {
  std::int64_t begin;
  std::int64_t middle;
  std::int64_t end;

  /// \param own a unit of the segment; the pair has it
  template <class Index>
  KOKKOS_FUNCTION PairOfRuns(CrossingSegment<Index> const& segment, std::int64_t unit, std::int64_t own, int pass) {
    std::int64_t const first = segment.begin / unit;
    std::int64_t const run = std::int64_t{1} << pass;
    std::int64_t const pair = first + ((own - first) >> (pass + 1) << (pass + 1));
    begin = Kokkos::clamp<std::int64_t>(pair * unit, segment.begin, segment.end);
    middle = Kokkos::clamp<std::int64_t>((pair + run) * unit, segment.begin, segment.end);
    end = Kokkos::clamp<std::int64_t>((pair + 2 * run) * unit, segment.begin, segment.end);
  }
};

template <ExecutionSpace Exec, class Key, class Value, class Tuning>
struct SortSegmentsKernels {
  struct BordersTag {};
  struct TilesTag {};
  struct MergeTag {};
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  static constexpr int chunk = Tuning::chunk;
  static constexpr int tile = chunk * Tuning::chunks;
  static constexpr bool has_values = value_bytes<Value> > 0;
  static_assert(tile < 65536, "Tessera: the places of a tile have 16 bits");

  /// A key in scratch. `place`: where it was in the tile; `segment`: the number of its segment in the chunk.
  struct Item {
    Key key;
    std::uint16_t place;
    std::uint16_t segment;
  };
  using Scratch = ScratchView<Item*, Exec>;
  using Splits = ScratchView<std::int64_t*, Exec>;
  using OfTiles = CrossingSegment<std::int64_t>;
  using OfChunks = CrossingSegment<std::uint16_t>;
  using Borders = ScratchView<OfChunks*, Exec>;

  /// Segments come in their order, and keys in order within them.
  struct Before {
    collective::KeyOrder<Key> order;
    KOKKOS_FUNCTION bool operator()(Item const& a, Item const& b) const {
      return a.segment < b.segment || (a.segment == b.segment && order.before(a.key, b.key));
    }
  };
  /// Keys and values.
  struct Arrays {
    Key* keys;
    Value* values;
  };

  Before before;
  Key const* keys;
  Value const* values;
  std::int64_t const* offsets;
  Arrays result;
  Arrays spare;         // null if there are no passes
  OfTiles* crossing;    // of the border before each tile, and of the end
  std::int64_t* first;  // the segment of each tile's first key
  std::int64_t n;
  std::int64_t rows;
  int pass;

  [[nodiscard]] static std::size_t scratch_bytes() {
    return 2 * Scratch::shmem_size(tile) + Kokkos::max(Borders::shmem_size(Tuning::chunks + 1), Splits::shmem_size(2));
  }

  /// Finds the segment of a tile's first key, and whether it begins before the tile.
  KOKKOS_FUNCTION void operator()(BordersTag, std::size_t t) const {
    std::int64_t const border = static_cast<std::int64_t>(t) * tile;
    std::int64_t const row = border < n ? segment_of(border, 0, rows - 1) : rows - 1;
    first[t] = row;
    bool const crosses = border < n && offsets[row] < border;
    crossing[t] = crosses ? OfTiles{offsets[row], offsets[row + 1]} : OfTiles{0, 0};
  }

  /// Sorts a tile by segment and key.
  KOKKOS_FUNCTION void operator()(TilesTag, Member const& team) const {
    Scratch const a(team.team_scratch(0), tile);
    Scratch const b(team.team_scratch(0), tile);
    Borders const borders(team.team_scratch(0), Tuning::chunks + 1);
    int const t = team.league_rank();
    std::int64_t const begin = static_cast<std::int64_t>(t) * tile;
    int const count = static_cast<int>(Kokkos::min<std::int64_t>(tile, n - begin));
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count),
                         [&](int i) { a(i) = {keys[begin + i], static_cast<std::uint16_t>(i), 0}; });
    team.team_barrier();
    int const chunks = (count + chunk - 1) / chunk;
    for (int c = team.team_rank(); c < chunks; c += team.team_size()) sort_chunk(a, b, borders, t, count, c);
    team.team_barrier();
    for (int in_tile = 0; (1 << in_tile) < chunks; ++in_tile) {
      for (int c = team.team_rank(); c < chunks; c += team.team_size()) {
        OfChunks const left = borders(c);
        OfChunks const right = borders(c + 1);
        if (left.passes(chunk) > in_tile) merge_chunk(a, b, left, c, in_tile);
        // A segment that crosses both borders is both.
        if (right.begin >= c * chunk && right.passes(chunk) > in_tile) merge_chunk(a, b, right, c, in_tile);
      }
      team.team_barrier();
    }

    // Only the segments at both ends of the tile can cross its borders.
    OfTiles const left = crossing[t];
    OfTiles const right = crossing[t + 1];
    // There is no spare array if, by `longest`, no segment crosses a border.
    bool const left_to_spare = spare.keys != nullptr && left.passes(tile) % 2 != 0;
    bool const right_to_spare = spare.keys != nullptr && right.passes(tile) % 2 != 0;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int i) {
      Item const item = a(i);
      bool const in_left = begin + i < left.end;
      bool const in_right = begin + i >= right.begin && right.begin < right.end;
      Arrays const& to = (in_left && left_to_spare) || (in_right && right_to_spare) ? spare : result;
      to.keys[begin + i] = item.key;
      if constexpr (has_values) to.values[begin + i] = values[begin + item.place];
    });
    leave_scratch(team);
  }

  /// Merges what a tile has of the segments that cross its borders, if they have not yet become one run.
  KOKKOS_FUNCTION void operator()(MergeTag, Member const& team) const {
    Scratch const a(team.team_scratch(0), tile);
    Scratch const b(team.team_scratch(0), tile);
    Splits const splits(team.team_scratch(0), 2);
    std::int64_t const begin = static_cast<std::int64_t>(team.league_rank()) * tile;
    OfTiles const left = crossing[team.league_rank()];
    OfTiles const right = crossing[team.league_rank() + 1];
    if (left.passes(tile) > pass) merge(team, a, b, splits, left, begin);
    // A segment that crosses both borders is both.
    if (right.begin >= begin && right.passes(tile) > pass) merge(team, a, b, splits, right, begin);
  }

 private:
  /// Returns the last segment, of `low` to `high`, that begins at or before key i: the segment of the key.
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t segment_of(std::int64_t i, std::int64_t low, std::int64_t high) const {
    while (low < high) {
      std::int64_t const middle = low + (high - low + 1) / 2;
      if (offsets[middle] <= i) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  /// Sorts chunk c of tile t by segment and key, from `a` to `a`, or to `b` if an odd number of passes follows. Notes
  /// the segments that cross the borders of the chunk.
  KOKKOS_FUNCTION void sort_chunk(Scratch const& a, Scratch const& b, Borders const& borders, int t, int count,
                                  int c) const {
    std::int64_t const tile_begin = static_cast<std::int64_t>(t) * tile;
    int const begin = c * chunk;
    int const end = Kokkos::min(begin + chunk, count);
    std::int64_t row = segment_of(tile_begin + begin, first[t], first[t + 1]);
    // The part of a segment in this tile, if the segment lies on both sides of a border.
    auto const across = [&](int border) {
      auto const from = Kokkos::max<std::int64_t>(offsets[row] - tile_begin, 0);
      auto const to = Kokkos::min<std::int64_t>(offsets[row + 1] - tile_begin, count);
      return from < border && border < to ? OfChunks{static_cast<std::uint16_t>(from), static_cast<std::uint16_t>(to)}
                                          : OfChunks{0, 0};
    };
    OfChunks const left = across(begin);
    Item item[chunk];
    int segment = 0;
    TESSERA_UNROLL
    for (int k = 0; k < chunk; ++k) {
      if (begin + k < end) {
        std::int64_t const i = tile_begin + begin + k;
        if (offsets[row + 1] <= i) {
          row = segment_of(i, row + 1, first[t + 1]);
          ++segment;
        }
        item[k] = a(begin + k);
        item[k].segment = static_cast<std::uint16_t>(segment);
      }
    }
    OfChunks const right = across(end);
    borders(c) = left;
    if (end == count) borders(c + 1) = right;
    collective::stable_sort_items(item, end - begin, before);
    bool const left_to_b = left.passes(chunk) % 2 != 0;
    bool const right_to_b = right.passes(chunk) % 2 != 0;
    TESSERA_UNROLL
    for (int k = 0; k < chunk; ++k) {
      int const i = begin + k;
      bool const in_left = i < left.end;
      bool const in_right = i >= right.begin && right.begin < right.end;
      if (i < end) ((in_left && left_to_b) || (in_right && right_to_b) ? b : a)(i) = item[k];
    }
  }

  /// Makes what chunk c has of a segment in a pass within the tile.
  KOKKOS_FUNCTION void merge_chunk(Scratch const& a, Scratch const& b, OfChunks const& segment, int c,
                                   int in_tile) const {
    bool const to_a = (segment.passes(chunk) - in_tile) % 2 != 0;
    Scratch const& from = to_a ? b : a;
    Scratch const& to = to_a ? a : b;
    PairOfRuns const pair(segment, chunk, c, in_tile);
    auto const begin = static_cast<int>(pair.begin);
    auto const middle = static_cast<int>(pair.middle);
    int const own = Kokkos::max<int>(c * chunk, segment.begin);
    int const own_end = Kokkos::min<int>((c + 1) * chunk, segment.end);
    collective::merge_items([&](int i) { return from(begin + i); }, middle - begin,
                            [&](int i) { return from(middle + i); }, static_cast<int>(pair.end) - middle, own - begin,
                            own_end - begin,
                            [&](Item const& x, Item const& y) { return before.order.before(x.key, y.key); },
                            [&](int i, Item const& taken) { to(begin + i) = taken; });
  }

  /// Makes what the tile at `tile_begin` has of a segment in this pass.
  KOKKOS_FUNCTION void merge(Member const& team, Scratch const& a, Scratch const& b, Splits const& splits,
                             OfTiles const& segment, std::int64_t tile_begin) const {
    bool const to_result = (segment.passes(tile) - pass) % 2 != 0;
    Arrays const& from = to_result ? spare : result;
    Arrays const& to = to_result ? result : spare;
    PairOfRuns const pair(segment, tile, tile_begin / tile, pass);
    std::int64_t const pair_begin = pair.begin;
    std::int64_t const middle = pair.middle;
    std::int64_t const pair_end = pair.end;
    std::int64_t const begin = Kokkos::max(tile_begin, segment.begin);
    std::int64_t const end = Kokkos::min(tile_begin + tile, segment.end);
    int const count = static_cast<int>(end - begin);

    for (int side = team.team_rank(); side < 2; side += team.team_size()) {
      splits(side) = collective::merge_path([&](std::int64_t i) { return from.keys[pair_begin + i]; },
                                            middle - pair_begin, [&](std::int64_t i) { return from.keys[middle + i]; },
                                            pair_end - middle, (side == 0 ? begin : end) - pair_begin,
                                            [&](Key x, Key y) { return before.order.before(x, y); });
    }
    team.team_barrier();
    int const n1 = static_cast<int>(splits(1) - splits(0));
    std::int64_t const first_run = pair_begin + splits(0);
    std::int64_t const second_run = middle + (begin - pair_begin - splits(0));
    auto const source = [&](int i) { return i < n1 ? first_run + i : second_run + (i - n1); };
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count),
                         [&](int i) { a(i) = {from.keys[source(i)], static_cast<std::uint16_t>(i), 0}; });
    team.team_barrier();
    for (int own = team.team_rank() * chunk; own < count; own += team.team_size() * chunk) {
      collective::merge_items([&](int i) { return a(i); }, n1, [&](int i) { return a(n1 + i); }, count - n1, own,
                              Kokkos::min(own + chunk, count), before, [&](int i, Item const& taken) { b(i) = taken; });
    }
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int i) {
      Item const item = b(i);
      to.keys[begin + i] = item.key;
      if constexpr (has_values) to.values[begin + i] = from.values[source(item.place)];
    });
    leave_scratch(team);
  }
};

}  // namespace detail

/// Sorts the segments of n keys. Construct it once: allocates a copy of keys and values, and 24 bytes per tile. A call
/// only enqueues; calls on one object must not run concurrently.
///
/// \tparam Key an integer or float of 32 or 64 bits
/// \tparam Value what moves with each key, 32 or 64 bits; NoValue: nothing
template <ExecutionSpace Exec, class Key, class Value = NoValue, class Tuning = SortSegmentsTuning<Exec, Key>>
class SortSegments {
  static_assert(std::is_arithmetic_v<Key> && (sizeof(Key) == 4 || sizeof(Key) == 8),
                "Tessera: keys are integers or floats of 32 or 64 bits");
  static_assert(std::is_trivially_copyable_v<Value> && value_bytes<Value> % 4 == 0 && value_bytes<Value> <= 8,
                "Tessera: values have 32 or 64 bits");
  using Kernels = detail::SortSegmentsKernels<Exec, Key, Value, Tuning>;
  using Memory = typename Exec::memory_space;
  static constexpr bool has_values = Kernels::has_values;

 public:
  /// Throws Skip if a team does not fit.
  /// \param rows segments; the offsets have one element more
  /// \param descending the largest key first, NaN last
  /// \param team threads per team (0: one per chunk on a GPU, 1 on a host)
  /// \param longest no segment has more keys (0: n). A smaller number saves passes. Longer segments are not sorted.
  SortSegments(Exec const& exec, std::size_t n, std::size_t rows, bool descending = false, std::int64_t team = 0,
               std::size_t longest = 0, std::string const& label = "tessera::sort_segments")
      : label_(label),
        n_(n),
        rows_(rows),
        order_(descending),
        threads_(team_size(exec, team > 0 || !is_gpu<Exec> ? team : Tuning::chunks)),
        tiles_(league_of(tiles_of(n, Kernels::tile))),
        crossing_(unset(label + "::crossing"), tiles_ + 1),
        first_(unset(label + "::first"), tiles_ + 1) {
    require_scratch<Exec>(Kernels::scratch_bytes());
    // A segment of m keys may lie in tiles_of(m - 1, tile) + 1 tiles.
    std::size_t const keys = longest == 0 ? n : std::min(longest, n);
    std::size_t const most = std::min<std::size_t>(tiles_, keys < 2 ? 1 : tiles_of(keys - 1, Kernels::tile) + 1);
    while ((std::size_t{1} << passes_) < most) ++passes_;
    keys_ = Kokkos::View<Key*, Memory>(unset(label + "::keys"), passes_ > 0 ? n : 0);
    values_ = Kokkos::View<Value*, Memory>(unset(label + "::values"), has_values && passes_ > 0 ? n : 0);
  }

  /// Enqueues. `keys`, `sorted` [n]: contiguous, apart; `offsets` [rows + 1]: from 0 to n, never falling. Throws
  /// std::invalid_argument for other Views; the values of the offsets are not checked.
  template <Readable<Exec, Key, 1> In, Readable<Exec, std::int64_t, 1> Offsets, Writable<Exec, Key, 1> Out>
    requires(!has_values)
  void operator()(Exec const& exec, In const& keys, Offsets const& offsets, Out const& sorted) const {
    require_apart(sorted, keys, offsets);
    enqueue(exec, contiguous(keys, n_), nullptr, contiguous(offsets, rows_ + 1), {contiguous(sorted, n_), nullptr});
  }

  /// The same with values, which move with their keys. The four arrays of keys and values have n elements.
  template <Readable<Exec, Key, 1> In, Readable<Exec, Value, 1> ValuesIn, Readable<Exec, std::int64_t, 1> Offsets,
            Writable<Exec, Key, 1> Out, Writable<Exec, Value, 1> ValuesOut>
    requires has_values
  void operator()(Exec const& exec, In const& keys, ValuesIn const& values, Offsets const& offsets, Out const& sorted,
                  ValuesOut const& sorted_values) const {
    require_apart(sorted, keys, values, offsets);
    require_apart(sorted_values, keys, values, offsets, sorted);
    enqueue(exec, contiguous(keys, n_), contiguous(values, n_), contiguous(offsets, rows_ + 1),
            {contiguous(sorted, n_), contiguous(sorted_values, n_)});
  }

  /// Returns the number of merge passes that are enqueued.
  [[nodiscard]] int passes() const { return passes_; }
  [[nodiscard]] std::string note() const {
    return std::to_string(tiles_) + " tiles, " + std::to_string(passes_) + " passes";
  }

 private:
  void enqueue(Exec const& exec, Key const* keys, Value const* values, std::int64_t const* offsets,
               typename Kernels::Arrays const& result) const {
    if (n_ == 0 || rows_ == 0) return;
    Kernels kernels{{order_},
                    keys,
                    values,
                    offsets,
                    result,
                    {passes_ > 0 ? keys_.data() : nullptr, values_.data()},
                    crossing_.data(),
                    first_.data(),
                    static_cast<std::int64_t>(n_),
                    static_cast<std::int64_t>(rows_),
                    0};
    std::size_t const bytes = Kernels::scratch_bytes();
    Kokkos::parallel_for(label_ + "::borders",
                         Kokkos::RangePolicy<Exec, typename Kernels::BordersTag, Kokkos::IndexType<std::size_t>>(
                             exec, 0, static_cast<std::size_t>(tiles_) + 1),
                         kernels);
    Kokkos::parallel_for(
        label_ + "::tiles",
        with_scratch(Kokkos::TeamPolicy<Exec, typename Kernels::TilesTag>(exec, tiles_, threads_), bytes), kernels);
    for (; kernels.pass < passes_; ++kernels.pass) {
      Kokkos::parallel_for(
          label_ + "::merge",
          with_scratch(Kokkos::TeamPolicy<Exec, typename Kernels::MergeTag>(exec, tiles_, threads_), bytes), kernels);
    }
  }

  std::string label_;
  std::size_t n_;
  std::size_t rows_;
  collective::KeyOrder<Key> order_;
  int threads_;
  int tiles_;
  int passes_ = 0;
  Kokkos::View<typename Kernels::OfTiles*, Memory> crossing_;
  Kokkos::View<std::int64_t*, Memory> first_;
  Kokkos::View<Key*, Memory> keys_;
  Kokkos::View<Value*, Memory> values_;
};

/// Sorts segment r, the keys offsets[r] to offsets[r + 1] - 1 of `keys` [n], into `sorted` [n], for every r. `offsets`
/// [rows + 1] run from 0 to n and never fall. Convenience for a single call: allocates, enqueues and waits.
template <ExecutionSpace Exec, class In, class Offsets, class Out>
void sort_segments(Exec const& exec, In const& keys, Offsets const& offsets, Out const& sorted,
                   bool descending = false) {
  std::size_t const rows = std::max<std::size_t>(1, offsets.extent(0)) - 1;
  SortSegments<Exec, typename In::non_const_value_type> const sort(exec, keys.extent(0), rows, descending);
  sort(exec, keys, offsets, sorted);
  exec.fence("tessera: sort_segments");  // the kernel's memory is freed at the end of this call
}

/// The same with `values` [n], which move with their keys to `sorted_values` [n].
template <ExecutionSpace Exec, class In, class ValuesIn, class Offsets, class Out, class ValuesOut>
void sort_segment_pairs(Exec const& exec, In const& keys, ValuesIn const& values, Offsets const& offsets,
                        Out const& sorted, ValuesOut const& sorted_values, bool descending = false) {
  std::size_t const rows = std::max<std::size_t>(1, offsets.extent(0)) - 1;
  SortSegments<Exec, typename In::non_const_value_type, typename ValuesIn::non_const_value_type> const sort(
      exec, keys.extent(0), rows, descending);
  sort(exec, keys, values, offsets, sorted, sorted_values);
  exec.fence("tessera: sort_segment_pairs");
}

}  // namespace tessera::kernels
