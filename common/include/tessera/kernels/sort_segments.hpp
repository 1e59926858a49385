#pragma once
/// \file
/// Sorts each segment of an array by itself: segment r has the keys offsets[r] to offsets[r + 1] - 1. Values of 32 or
/// 64 bits move with their keys. Stable. Segments have any lengths, and cost what their keys cost.
///
/// - `borders`: for each tile of the array, a search in the offsets finds the segment of its first key.
/// - `tiles`: a team sorts a tile in scratch, by segment and key. All segments that lie in a tile are then sorted.
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
#include <tessera/collective/team/merge_sort.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
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

/// The keys `begin` to `end - 1` of a segment that crosses a border of tiles; begin = end if there is none.
struct CrossingSegment {
  std::int64_t begin;
  std::int64_t end;
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
  static_assert(tile <= 65536, "Tessera: the places of a tile have 16 bits");

  /// A key in scratch. `place`: where it was in the tile; `segment`: where its segment begins in the tile.
  struct Item {
    Key key;
    std::uint16_t place;
    std::uint16_t segment;
  };
  using Scratch = ScratchView<Item*, Exec>;
  using Splits = ScratchView<std::int64_t*, Exec>;

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
  Arrays spare;               // null if there are no passes
  CrossingSegment* crossing;  // of the border before each tile, and of the end
  std::int64_t* first;        // the segment of each tile's first key
  std::int64_t n;
  std::int64_t rows;
  int pass;

  [[nodiscard]] static std::size_t scratch_bytes() { return 2 * Scratch::shmem_size(tile) + Splits::shmem_size(2); }

  /// Finds the segment of a tile's first key, and whether it begins before the tile.
  KOKKOS_FUNCTION void operator()(BordersTag, std::size_t t) const {
    std::int64_t const border = static_cast<std::int64_t>(t) * tile;
    std::int64_t const row = border < n ? segment_of(border, 0, rows - 1) : rows - 1;
    first[t] = row;
    bool const crosses = border < n && offsets[row] < border;
    crossing[t] = crosses ? CrossingSegment{offsets[row], offsets[row + 1]} : CrossingSegment{0, 0};
  }

  /// Sorts a tile by segment and key.
  KOKKOS_FUNCTION void operator()(TilesTag, Member const& team) const {
    Scratch const a(team.team_scratch(0), tile);
    Scratch const b(team.team_scratch(0), tile);
    int const t = team.league_rank();
    std::int64_t const begin = static_cast<std::int64_t>(t) * tile;
    int const count = static_cast<int>(Kokkos::min<std::int64_t>(tile, n - begin));
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int i) {
      std::int64_t const segment_begin = offsets[segment_of(begin + i, first[t], first[t + 1])] - begin;
      a(i) = {keys[begin + i], static_cast<std::uint16_t>(i),
              static_cast<std::uint16_t>(Kokkos::max<std::int64_t>(0, segment_begin))};
    });
    Scratch const sorted = team::merge_sort<chunk>(team, a, b, count, before);

    // Only the segments at both ends of the tile can cross its borders.
    CrossingSegment const left = crossing[t];
    CrossingSegment const right = crossing[t + 1];
    // There is no spare array if, by `longest`, no segment crosses a border.
    bool const left_to_spare = spare.keys != nullptr && passes_of(left) % 2 != 0;
    bool const right_to_spare = spare.keys != nullptr && passes_of(right) % 2 != 0;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int i) {
      Item const item = sorted(i);
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
    CrossingSegment const left = crossing[team.league_rank()];
    CrossingSegment const right = crossing[team.league_rank() + 1];
    if (passes_of(left) > pass) merge(team, a, b, splits, left, begin);
    // A segment that crosses both borders is both.
    if (right.begin >= begin && passes_of(right) > pass) merge(team, a, b, splits, right, begin);
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

  /// Returns the number of passes that join the runs of a segment: ceil(log2(tiles)).
  [[nodiscard]] KOKKOS_FUNCTION static int passes_of(CrossingSegment const& segment) {
    if (segment.begin >= segment.end) return 0;
    std::int64_t const more = (segment.end - 1) / tile - segment.begin / tile;
    int passes = 0;
    while ((more >> passes) > 0) ++passes;
    return passes;
  }

  /// Makes what the tile at `tile_begin` has of a segment in this pass.
  KOKKOS_FUNCTION void merge(Member const& team, Scratch const& a, Scratch const& b, Splits const& splits,
                             CrossingSegment const& segment, std::int64_t tile_begin) const {
    bool const to_result = (passes_of(segment) - pass) % 2 != 0;
    Arrays const& from = to_result ? spare : result;
    Arrays const& to = to_result ? result : spare;
    // Runs are whole tiles, counted from the segment's first one.
    std::int64_t const first_tile = segment.begin / tile;
    std::int64_t const pair = (tile_begin / tile - first_tile) >> (pass + 1) << (pass + 1);
    auto const border = [&](std::int64_t tiles) {
      return Kokkos::clamp((first_tile + tiles) * tile, segment.begin, segment.end);
    };
    std::int64_t const run = std::int64_t{1} << pass;
    std::int64_t const pair_begin = border(pair);
    std::int64_t const middle = border(pair + run);
    std::int64_t const pair_end = border(pair + 2 * run);
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
  Kokkos::View<detail::CrossingSegment*, Memory> crossing_;
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
