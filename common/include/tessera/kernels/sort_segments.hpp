#pragma once
/// \file
/// Sorts each segment of an array by itself: segment r has the keys offsets[r] to offsets[r + 1] - 1. Values of 32 or
/// 64 bits move with their keys. Stable. Segments have any lengths, and cost what their keys cost.
///
/// - `borders`: for each tile of the array, a search in the offsets finds the segment at its border. The tile in which
///   a segment begins has the whole of it, unless it has more than Tuning::longest_whole keys. Longer segments are cut
///   at borders of tiles.
/// - `tiles`: a team sorts the segments of its tile, or what the tile has of them. Lanes sort runs in registers, by
///   networks: one lane a run of up to Tuning::items keys, groups of 2, 4, ... lanes longer ones. Each batch of
///   segments is ordered by the size of the runs, so that the lanes of a warp sort runs of one size. Runs of longer
///   segments are merged in scratch.
/// - `merge`: a segment that is cut is sorted in each of its tiles. Pass k merges pairs of runs of 2^k of its tiles,
///   divided among teams by merge paths. A segment in m tiles takes part in ceil(log2(m)) passes. Runs alternate
///   between result and spare array. A segment starts where its last pass ends in the result, so that no pass copies
///   other segments. All passes are one launch, whose teams take numbered turns. The turns of a pass come before those
///   of the next one, and wait until the pass before is complete. If no segment needs a pass, the teams return at once.
///
/// Networks are not stable. If values follow, or bits of a key do not follow from its place in the order (NaN, -0), a
/// lane sorts keys with their places in the tile.
///
/// No launch waits for the host: the number of passes follows from the longest possible segment. Source of the merge:
/// O. Green, R. McColl, D. Bader: GPU Merge Path (2012); of the networks: K. Batcher, Sorting networks and their
/// applications (1968).
///
/// Order (collective/key_order.hpp): integers by value; floats by value, NaN last, -0 and 0 equal. `descending`: the
/// largest first, NaN last. Equal keys keep their order; keys keep their bits.
///
/// Traffic: keys and values are read and written once, and once more in each pass of their segment. Memory: a spare
/// copy of keys and values, and 32 bytes per tile.
///
/// Example, tiles of 4, whole segments of at most 2: keys 4 1 3 2 0 9 8 7, offsets 0 1 6 8 -> tiles 4 | 1 2 3 and
/// 0 9 | 7 8 -> merged 4 | 0 1 2 3 9 | 7 8.
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
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/merge_path.hpp>
#include <tessera/collective/shared_word.hpp>
#include <tessera/collective/thread/bitonic_sort.hpp>
#include <tessera/collective/thread/match_digit.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/detail/sort/bin_tuning.hpp>

namespace tessera::kernels {

/// Tuning parameters of SortSegments.
template <ExecutionSpace Exec, class Key>
struct SortSegmentsTuning {
  static constexpr int lanes = is_gpu<Exec> ? 32 : 1;   ///< per thread of a team
  static constexpr int threads = is_gpu<Exec> ? 4 : 1;  ///< per team
  /// Keys that a lane sorts in registers, a power of two. A thread sorts runs of up to `lanes` times as many. On one
  /// H100, 2^28 doubles in segments of about 32 took 5.4 ms with 8 and 8.2 ms with 16: more teams are resident.
  static constexpr int items = !is_gpu<Exec> ? 32 : sizeof(Key) > 4 ? 8 : 16;
  static constexpr int tile = (is_gpu<Exec> ? 12288 : 8192) / sizeof(Key);  ///< keys of a tile
  /// Segments of more keys are cut at borders of tiles. A tile has the whole of a shorter one that begins in it.
  static constexpr int longest_whole = is_gpu<Exec> ? 4096 / sizeof(Key) : 512;
  static constexpr int chunk = is_gpu<Exec> ? 7 : 16;     ///< keys that a lane merges at a time
  static constexpr int rows = is_gpu<Exec> ? 2 : 1;       ///< segments that a lane looks at, at a time
  static constexpr int in_flight = is_gpu<Exec> ? 8 : 1;  ///< keys that a lane copies at a time
  /// Six teams share a multiprocessor, with 80 registers per lane, which spills a few: 4% faster than without bounds.
  using Bounds = TeamBounds<Exec, 128, 6>;
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

[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr int log2_of(int n) {
  int log2 = 0;
  while (n >> (log2 + 1) > 0) ++log2;
  return log2;
}

template <ExecutionSpace Exec, class Key, class Value, class Tuning>
struct SortSegmentsKernels {
  struct BordersTag {};
  struct TilesTag {};
  struct MergeTag {};
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using Word = collective::KeyWord<Key>;
  static constexpr int tile = Tuning::tile;
  static constexpr int chunk = Tuning::chunk;
  static constexpr int items = Tuning::items;
  static constexpr int most = tile + Tuning::longest_whole;  ///< keys that a tile may have
  static constexpr int run = items * Lanes::width;           ///< keys that a thread sorts
  static constexpr bool has_values = value_bytes<Value> > 0;
  static_assert(most < 65536, "Tessera: the places of a tile have 16 bits");

  // Sizes of runs that lanes sort: powers of two from 2^least_log2.
  static constexpr int least_log2 = Kokkos::min(2, log2_of(items));
  static constexpr int sizes = log2_of(run) - least_log2 + 1;

  /// What lanes sort: words of keys, whose bits follow from the word.
  struct Plain {
    using Item = Word;
    using Slot = Key;
    [[nodiscard]] KOKKOS_FUNCTION static Item item_of(Word word, int) { return word; }
    [[nodiscard]] KOKKOS_FUNCTION static Item last() { return ~Word(0); }
    [[nodiscard]] KOKKOS_FUNCTION static bool before(Item const& x, Item const& y) { return x < y; }
  };
  /// What lanes sort: words of keys with places in the tile. Equal words come in the order of their places.
  struct WithPlace {
    using Slot = std::uint16_t;
    struct Long {
      std::uint32_t high;
      std::uint32_t low;
      std::uint32_t place;
    };
    using Item = std::conditional_t<sizeof(Key) == 4, std::uint64_t, Long>;
    [[nodiscard]] KOKKOS_FUNCTION static Item item_of(Word word, int place) {
      if constexpr (sizeof(Key) == 4) {
        return static_cast<std::uint64_t>(word) << 32 | static_cast<std::uint32_t>(place);
      } else {
        return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word),
                static_cast<std::uint32_t>(place)};
      }
    }
    [[nodiscard]] KOKKOS_FUNCTION static Item last() { return item_of(~Word(0), -1); }
    [[nodiscard]] KOKKOS_FUNCTION static bool before(Item const& x, Item const& y) {
      if constexpr (sizeof(Key) == 4) {
        return x < y;
      } else {
        auto const low = [](Item const& item) { return std::uint64_t{item.low} << 32 | item.place; };
        return (x.high < y.high) | ((x.high == y.high) & (low(x) < low(y)));
      }
    }
    [[nodiscard]] KOKKOS_FUNCTION static Slot place_of(Item const& item) {
      if constexpr (sizeof(Key) == 4) {
        return static_cast<Slot>(item);
      } else {
        return static_cast<Slot>(item.place);
      }
    }
  };
  /// Whether places are needed for some keys: for values, and for floats whose bits do not follow from their words.
  static constexpr bool may_need_places = has_values || std::is_floating_point_v<Key>;

  /// Keys `begin` to `begin + count - 1` of a tile.
  struct Part {
    std::uint16_t begin;
    std::uint16_t count;
  };
  using OfTiles = CrossingSegment<std::int64_t>;
  /// Where a tile begins.
  struct Border {
    std::int64_t begin;  ///< the tile's first key: behind the segment at the border, if the tile before has it whole
    std::int64_t row;    ///< the segment at the border
    OfTiles crossing;    ///< this segment, if it is cut
  };
  using Keys = ScratchView<Key*, Exec>;
  using Halves = ScratchView<std::uint16_t*, Exec>;
  using Parts = ScratchView<Part*, Exec>;
  using Counters = ScratchView<int*, Exec>;
  using Splits = ScratchView<std::int64_t*, Exec>;
  /// The lanes that sort a batch: at most two per `items` keys of longer parts, and one per shorter part.
  [[nodiscard]] KOKKOS_FUNCTION static constexpr int most_slots(int lanes) {
    return 2 * most / items + lanes * Tuning::rows;
  }
  /// Scratch for places, twice, or for a copy of the keys.
  static constexpr int spare_halves = (has_values ? 2 : Kokkos::max<int>(2, sizeof(Key) / 2)) * most;
  static constexpr int most_long = most / run + 1;

  /// Keys and values.
  struct Arrays {
    Key* keys;
    Value* values;
  };

  collective::KeyOrder<Key> order;
  Key const* keys;
  Value const* values;
  std::int64_t const* offsets;
  Arrays result;
  Arrays spare;  // null if there are no passes
  Border* borders;
  std::uint32_t* progress;  // the most passes of all segments, turns taken, turns that are over
  std::int64_t n;
  std::int64_t rows;
  int tiles;
  int teams;  // that share a pass

  /// \param threads threads per team
  [[nodiscard]] static std::size_t scratch_bytes(int threads) {
    return Keys::shmem_size(most) + Halves::shmem_size(spare_halves) +
           Kokkos::max(Parts::shmem_size(most_slots(threads * Lanes::width)) + Parts::shmem_size(most_long) +
                           Counters::shmem_size(sizes + 1 + threads),
                       Splits::shmem_size(2));
  }

  /// Finds where a tile begins, and whether a segment is cut there.
  KOKKOS_FUNCTION void operator()(BordersTag, std::size_t t) const {
    std::int64_t const border = Kokkos::min<std::int64_t>(static_cast<std::int64_t>(t) * tile, n);
    std::int64_t const row = border < n ? segment_of(border, 0, rows - 1) : rows - 1;
    OfTiles const segment{offsets[row], offsets[row + 1]};
    bool const crosses = border < n && segment.begin < border;
    bool const is_cut = crosses && segment.end - segment.begin > Tuning::longest_whole;
    borders[t] = {crosses && !is_cut ? segment.end : border, row, is_cut ? segment : OfTiles{0, 0}};
    if (is_cut) Kokkos::atomic_max(progress, static_cast<std::uint32_t>(segment.passes(tile)));
  }

  /// What a team has in scratch while it sorts a tile.
  struct Tile {
    Keys keys;
    Halves spare;
    Parts slots;        // for each lane that sorts, the run of its group of lanes
    Parts long_parts;   // longer than a run
    Counters counters;  // runs of each size; long parts; per thread, whether it has seen a key that needs its place

    KOKKOS_FUNCTION explicit Tile(Member const& team)
        : keys(team.team_scratch(0), most),
          spare(team.team_scratch(0), spare_halves),
          slots(team.team_scratch(0), most_slots(team.team_size() * Lanes::width)),
          long_parts(team.team_scratch(0), most_long),
          counters(team.team_scratch(0), sizes + 1 + team.team_size()) {}

    /// What is sorted: the keys themselves, or their places; and as much memory for a copy.
    template <class Kind>
    [[nodiscard]] KOKKOS_FUNCTION typename Kind::Slot* sorted() const {
      if constexpr (std::is_same_v<Kind, Plain>) {
        return keys.data();
      } else {
        return spare.data();
      }
    }
    template <class Kind>
    [[nodiscard]] KOKKOS_FUNCTION typename Kind::Slot* copy() const {
      if constexpr (std::is_same_v<Kind, Plain>) {
        return reinterpret_cast<Key*>(spare.data());
      } else {
        return spare.data() + most;
      }
    }
    template <class Kind>
    [[nodiscard]] KOKKOS_FUNCTION Key key_of(typename Kind::Slot slot) const {
      if constexpr (std::is_same_v<Kind, Plain>) {
        return slot;
      } else {
        return keys(slot);
      }
    }
  };

  /// Sorts a tile by segment and key.
  KOKKOS_FUNCTION void operator()(TilesTag, Member const& team) const {
    Tile const of_team(team);
    Border const left = borders[team.league_rank()];
    Border const right = borders[team.league_rank() + 1];
    Key const* const from = keys + left.begin;
    auto const count = static_cast<int>(right.begin - left.begin);
    if (team.team_rank() == 0) of_team.counters(sizes) = 0;
    bool needs_places = has_values;
    if constexpr (may_need_places && !has_values) {
      Lanes const lanes;
      auto is_any = lanes.template fill<bool>(false);
      for_each_in_flight<Key>(
          team, count, [&](int i) { return from[i]; },
          [&](int i, Key key, bool& is) {
            of_team.keys(i) = key;
            is = is || !order.has_own_word(key);
          },
          is_any);
      of_team.counters(sizes + 1 + team.team_rank()) = lanes.any(is_any) ? 1 : 0;
      team.team_barrier();
      for (int thread = 0; thread < team.team_size(); ++thread) {
        needs_places = needs_places || of_team.counters(sizes + 1 + thread) != 0;
      }
    } else {
      auto nothing = Lanes{}.template fill<bool>(false);
      for_each_in_flight<Key>(
          team, count, [&](int i) { return from[i]; }, [&](int i, Key key, bool&) { of_team.keys(i) = key; }, nothing);
    }
    if (needs_places) {
      if constexpr (may_need_places) sort_tile<WithPlace>(team, of_team, left, right);
    } else {
      if constexpr (!has_values) sort_tile<Plain>(team, of_team, left, right);
    }
    leave_scratch(team);
  }

  /// Merges what tiles have of the segments that cross their borders, if they have not yet become one run.
  KOKKOS_FUNCTION void operator()(MergeTag, Member const& team) const {
    auto const passes = static_cast<int>(progress[0]);
    if (passes == 0) return;
    Keys const in(team.team_scratch(0), most);
    Halves const b(team.team_scratch(0), spare_halves);
    Splits const splits(team.team_scratch(0), 2);
    Kokkos::single(Kokkos::PerTeam(team), [&] { splits(0) = Kokkos::atomic_fetch_add(progress + 1, 1U); });
    team.team_barrier();
    auto const turn = static_cast<int>(splits(0));
    int const pass = turn / teams;
    if (pass >= passes) {
      leave_scratch(team);  // no test fails without it: the turns of later teams are not needed either
      return;
    }
    // Turns are taken in the order of the passes, so that a team waits only for teams that have started. No test of a
    // host fails without the two fences: its processor keeps the order of stores, and of loads.
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      while (collective::load_word(progress + 2) < static_cast<std::uint32_t>(pass * teams)) collective::back_off(200);
      Kokkos::memory_fence();
    });
    team.team_barrier();
    for (int t = turn % teams; t < tiles; t += teams) {
      std::int64_t const begin = static_cast<std::int64_t>(t) * tile;
      OfTiles const left = borders[t].crossing;
      OfTiles const right = borders[t + 1].crossing;
      if (left.passes(tile) > pass) merge(team, pass, in, b, splits, left, begin);
      // A segment that crosses both borders is both.
      if (right.begin >= begin && right.passes(tile) > pass) merge(team, pass, in, b, splits, right, begin);
    }
    // The last barrier of merge() has been after all stores.
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      Kokkos::memory_fence();
      Kokkos::atomic_add(progress + 2, 1U);
    });
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

  /// Returns the size of a run of `count` keys, at most that of the longest run.
  [[nodiscard]] KOKKOS_FUNCTION static int size_of(int count) {
    int size = 0;
    while (size < sizes - 1 && (1 << (least_log2 + size)) < count) ++size;
    return size;
  }
  /// Returns the lanes that sort a run of a size.
  [[nodiscard]] KOKKOS_FUNCTION static int lanes_of(int size) {
    return Kokkos::max(1, (1 << (least_log2 + size)) / items);
  }

  /// Calls `store(i, load(i), own)` for all i < count; `own` is the lane's value of `of_lanes`. The loads of several i
  /// are in flight at a time.
  template <class T, class Load, class Store, class Own>
  KOKKOS_FUNCTION static void for_each_in_flight(Member const& team, int count, Load const& load, Store const& store,
                                                 Own& of_lanes) {
    constexpr int in_flight = Tuning::in_flight;
    int const stride = team.team_size() * Lanes::width;
    for (int first = team.team_rank() * Lanes::width; first < count; first += in_flight * stride) {
      Lanes{}.each(
          [&](int lane, auto& own) {
            T loaded[in_flight];
            TESSERA_UNROLL
            for (int k = 0; k < in_flight; ++k) {
              int const i = first + k * stride + lane;
              if (i < count) loaded[k] = load(i);
            }
            TESSERA_UNROLL
            for (int k = 0; k < in_flight; ++k) {
              int const i = first + k * stride + lane;
              if (i < count) store(i, loaded[k], own);
            }
          },
          of_lanes);
    }
  }

  /// Sorts the tile in scratch, and writes it.
  template <class Kind>
  KOKKOS_FUNCTION void sort_tile(Member const& team, Tile const& of_team, Border const& left,
                                 Border const& right) const {
    std::int64_t const begin = left.begin;
    auto const count = static_cast<int>(right.begin - begin);
    auto* const sorted = of_team.template sorted<Kind>();
    if constexpr (!std::is_same_v<Kind, Plain>) {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count),
                           [&](int i) { sorted[i] = static_cast<std::uint16_t>(i); });
    }
    sort_parts<Kind>(team, of_team, left, right);
    merge_long_parts<Kind>(team, of_team);

    // Only the segments at both ends of the tile can cross its borders.
    // There is no spare array if, by `longest`, no segment crosses a border.
    bool const left_to_spare = spare.keys != nullptr && left.crossing.passes(tile) % 2 != 0;
    bool const right_to_spare = spare.keys != nullptr && right.crossing.passes(tile) % 2 != 0;
    auto const of_left =
        static_cast<int>(left_to_spare ? Kokkos::clamp<std::int64_t>(left.crossing.end - begin, 0, count) : 0);
    auto const of_right =
        static_cast<int>(right_to_spare ? Kokkos::clamp<std::int64_t>(right.crossing.begin - begin, 0, count) : count);
    auto const to = [&](int i) -> Arrays const& { return i < of_left || i >= of_right ? spare : result; };
    auto nothing = Lanes{}.template fill<bool>(false);
    for_each_in_flight<Key>(
        team, count, [&](int i) { return of_team.template key_of<Kind>(sorted[i]); },
        [&](int i, Key key, bool&) { to(i).keys[begin + i] = key; }, nothing);
    if constexpr (has_values) {
      for_each_in_flight<Value>(
          team, count, [&](int i) { return values[begin + sorted[i]]; },
          [&](int i, Value value, bool&) { to(i).values[begin + i] = value; }, nothing);
    }
  }

  /// Sorts the parts of a tile, or runs of those that are longer than a run, which are listed in `long_parts`.
  template <class Kind>
  KOKKOS_FUNCTION void sort_parts(Member const& team, Tile const& of_team, Border const& left,
                                  Border const& right) const {
    constexpr int per_lane = Tuning::rows;
    Lanes const lanes;
    auto const& slots = of_team.slots;
    auto const& counters = of_team.counters;
    int const batch = team.team_size() * Lanes::width * per_lane;
    std::int64_t const begin = left.begin;
    std::int64_t const end = right.begin;
    for (std::int64_t row = left.row; row <= right.row; row += batch) {
      // Any number of empty segments costs one search.
      if (row > left.row && row + batch <= right.row && offsets[row] == offsets[row + batch]) {
        row = segment_of(offsets[row], row + batch, right.row);
      }
      team.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, int{sizes}), [&](int size) { counters(size) = 0; });
      typename Lanes::template Value<Part> part[per_lane];
      typename Lanes::template Value<int> size[per_lane];
      typename Lanes::template Value<int> before[per_lane];  // runs of the same size before this lane's
      TESSERA_UNROLL
      for (int k = 0; k < per_lane; ++k) {
        before[k] = lanes.template fill<int>(0);
        lanes.each(
            [&](int lane, Part& own, int& own_size) {
              own = {0, 0};
              own_size = -1;
              std::int64_t const r = row + (k * team.team_size() + team.team_rank()) * Lanes::width + lane;
              if (r > right.row) return;
              std::int64_t const from = Kokkos::max(offsets[r], begin);
              std::int64_t const to = Kokkos::min(offsets[r + 1], end);
              if (to - from < 2) return;
              own = {static_cast<std::uint16_t>(from - begin), static_cast<std::uint16_t>(to - from)};
              own_size = size_of(own.count);
            },
            part[k], size[k]);
      }
      team.team_barrier();
      for (int s = 0; s < sizes; ++s) {
        std::uint64_t mask[per_lane];
        int runs = 0;
        TESSERA_UNROLL
        for (int k = 0; k < per_lane; ++k) {
          auto is_own = lanes.template fill<bool>(false);
          lanes.each([&](int, bool& own, int own_size) { own = own_size == s; }, is_own, size[k]);
          mask[k] = lanes.ballot(is_own);
          runs += static_cast<int>(thread::count_lanes(mask[k]));
        }
        if (runs == 0) continue;
        auto first = lanes.template fill<int>(0);
        if (s < sizes - 1) {
          lanes.each(
              [&](int lane, int& own) {
                if (lane == 0) own = Kokkos::atomic_fetch_add(&counters(s), runs);
              },
              first);
          int next = lanes.read(first, 0);
          TESSERA_UNROLL
          for (int k = 0; k < per_lane; ++k) {
            lanes.each(
                [&](int lane, int& own, int own_size) {
                  std::uint64_t const below = (std::uint64_t{1} << lane) - 1;
                  if (own_size == s) own = next + static_cast<int>(thread::count_lanes(mask[k] & below));
                },
                before[k], size[k]);
            next += static_cast<int>(thread::count_lanes(mask[k]));
          }
        } else {  // of long parts several runs each
          TESSERA_UNROLL
          for (int k = 0; k < per_lane; ++k) {
            lanes.each(
                [&](int, int& own, int own_size, Part const& p) {
                  if (own_size == s) own = Kokkos::atomic_fetch_add(&counters(s), (p.count + run - 1) / run);
                },
                before[k], size[k], part[k]);
          }
        }
      }
      team.team_barrier();
      TESSERA_UNROLL
      for (int k = 0; k < per_lane; ++k) {
        lanes.each(
            [&](int, Part const& own, int own_size, int own_before) {
              if (own_size < 0) return;
              int slot = own_before * lanes_of(own_size);
              for (int s = own_size + 1; s < sizes; ++s) slot += counters(s) * lanes_of(s);
              for (int from = 0; from < own.count; from += run) {
                Part const one{static_cast<std::uint16_t>(own.begin + from),
                               static_cast<std::uint16_t>(Kokkos::min(int{run}, own.count - from))};
                int const needed = lanes_of(size_of(one.count));  // fewer in the last run of a long part
                for (int i = 0; i < lanes_of(own_size); ++i) slots(slot++) = i < needed ? one : Part{0, 0};
              }
              if (own.count > run) of_team.long_parts(Kokkos::atomic_fetch_add(&counters(sizes), 1)) = own;
            },
            part[k], size[k], before[k]);
      }
      team.team_barrier();
      // The longest runs first: groups of lanes begin at multiples of their number.
      int end_slot = 0;
      for (int s = sizes - 1; s >= 0 && (1 << (least_log2 + s)) >= items; --s) end_slot += counters(s) * lanes_of(s);
      sort_slots<Kind, items>(team, of_team, 0, end_slot);
      sort_small<Kind, items / 2>(team, of_team, end_slot);
    }
    team.team_barrier();
  }
  template <class Kind, int N>
  KOKKOS_FUNCTION void sort_small(Member const& team, Tile const& of_team, int begin_slot) const {
    if constexpr (N >= (1 << least_log2)) {
      constexpr int size = log2_of(N) - least_log2;
      int const end_slot = begin_slot + of_team.counters(size);
      sort_slots<Kind, N>(team, of_team, begin_slot, end_slot);
      sort_small<Kind, N / 2>(team, of_team, end_slot);
    }
  }

  /// Sorts the runs of these slots; each lane has N keys.
  template <class Kind, int N>
  KOKKOS_FUNCTION void sort_slots(Member const& team, Tile const& of_team, int begin, int end) const {
    using Item = typename Kind::Item;
    Lanes const lanes;
    auto* const sorted = of_team.template sorted<Kind>();
    for (int first = begin + team.team_rank() * Lanes::width; first < end; first += team.team_size() * Lanes::width) {
      auto part = lanes.template fill<Part>({0, 0});
      auto group = lanes.template fill<int>(1);
      lanes.each(
          [&](int lane, Part& own, int& of_group) {
            if (first + lane >= end) return;
            own = of_team.slots(first + lane);
            if constexpr (N == items) of_group = lanes_of(size_of(own.count));
          },
          part, group);
      typename Lanes::template Value<Item> item[N];
      TESSERA_UNROLL
      for (int k = 0; k < N; ++k) {
        lanes.each(
            [&](int lane, Item& own, Part const& p, int of_group) {
              int const i = k * of_group + (lane & (of_group - 1));  // neighbours in scratch: other banks
              own = i < p.count ? Kind::item_of(order(of_team.keys(p.begin + i)), p.begin + i) : Kind::last();
            },
            item[k], part, group);
      }
      thread::bitonic_sort_groups<N, Lanes, Item>(lanes, item, group,
                                                  [](Item const& x, Item const& y) { return Kind::before(x, y); });
      // Lanes write where others have read. The exchanges of the sort order this on today's GPUs, but promise nothing.
      lanes.sync();
      TESSERA_UNROLL
      for (int k = 0; k < N; ++k) {
        lanes.each(
            [&](int lane, Item const& own, Part const& p, int of_group) {
              int const i = (lane & (of_group - 1)) * N + k;
              if (i >= p.count) return;
              if constexpr (std::is_same_v<Kind, Plain>) {
                sorted[p.begin + i] = order.key_of(own);
              } else {
                sorted[p.begin + i] = Kind::place_of(own);
              }
            },
            item[k], part, group);
      }
    }
  }

  /// Merges the runs of parts in scratch.
  template <class Kind>
  KOKKOS_FUNCTION void merge_long_parts(Member const& team, Tile const& of_team) const {
    using Slot = typename Kind::Slot;
    Parts const& parts = of_team.long_parts;
    Slot* const a = of_team.template sorted<Kind>();
    Slot* const b = of_team.template copy<Kind>();
    int const count = of_team.counters(sizes);
    int longest = 0;
    for (int p = 0; p < count; ++p) longest = Kokkos::max<int>(longest, parts(p).count);
    auto const before = [&](Slot x, Slot y) {
      return order.before(of_team.template key_of<Kind>(x), of_team.template key_of<Kind>(y));
    };
    for (int merged = run; merged < longest; merged *= 2) {
      for (int p = 0; p < count; ++p) {
        Part const part = parts(p);
        Kokkos::parallel_for(Kokkos::TeamVectorRange(team, (part.count + chunk - 1) / chunk), [&](int c) {
          int const own = c * chunk;
          for (int i = own, end = Kokkos::min<int>(own + chunk, part.count); i < end;) {
            int const pair = i / (2 * merged) * (2 * merged);
            int const middle = Kokkos::min<int>(pair + merged, part.count);
            int const pair_end = Kokkos::min<int>(middle + merged, part.count);
            int const to = Kokkos::min(end, pair_end);
            Slot const* const first = a + part.begin + pair;
            Slot const* const second = a + part.begin + middle;
            collective::merge_items([&](int j) { return first[j]; }, middle - pair, [&](int j) { return second[j]; },
                                    pair_end - middle, i - pair, to - pair, before,
                                    [&](int j, Slot taken) { b[part.begin + pair + j] = taken; });
            i = to;
          }
        });
      }
      team.team_barrier();
      for (int p = 0; p < count; ++p) {
        Part const part = parts(p);
        Kokkos::parallel_for(Kokkos::TeamVectorRange(team, int{part.count}),
                             [&](int i) { a[part.begin + i] = b[part.begin + i]; });
      }
      team.team_barrier();
    }
  }

  /// Makes what the tile at `tile_begin` has of a segment in this pass.
  KOKKOS_FUNCTION void merge(Member const& team, int pass, Keys const& in, Halves const& b, Splits const& splits,
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

    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, 2), [&](int side) {
      splits(side) = collective::merge_path([&](std::int64_t i) { return from.keys[pair_begin + i]; },
                                            middle - pair_begin, [&](std::int64_t i) { return from.keys[middle + i]; },
                                            pair_end - middle, (side == 0 ? begin : end) - pair_begin,
                                            [&](Key x, Key y) { return order.before(x, y); });
    });
    team.team_barrier();
    int const n1 = static_cast<int>(splits(1) - splits(0));
    std::int64_t const first_run = pair_begin + splits(0);
    std::int64_t const second_run = middle + (begin - pair_begin - splits(0));
    auto const source = [&](int i) { return i < n1 ? first_run + i : second_run + (i - n1); };
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count), [&](int i) { in(i) = from.keys[source(i)]; });
    team.team_barrier();
    auto const before = [&](std::uint16_t x, std::uint16_t y) { return order.before(in(x), in(y)); };
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, (count + chunk - 1) / chunk), [&](int c) {
      collective::merge_items([&](int i) { return static_cast<std::uint16_t>(i); }, n1,
                              [&](int i) { return static_cast<std::uint16_t>(n1 + i); }, count - n1, c * chunk,
                              Kokkos::min((c + 1) * chunk, count), before,
                              [&](int i, std::uint16_t taken) { b(i) = taken; });
    });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count), [&](int i) {
      int const place = b(i);
      to.keys[begin + i] = in(place);
      if constexpr (has_values) to.values[begin + i] = from.values[source(place)];
    });
    leave_scratch(team);
  }
};

}  // namespace detail

/// Sorts the segments of n keys. Construct it once: allocates a copy of keys and values, and 32 bytes per tile. A call
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
  /// \param team threads per team (0: Tuning::threads)
  /// \param longest no segment has more keys (0: n). A smaller number saves passes. Longer segments are not sorted.
  SortSegments(Exec const& exec, std::size_t n, std::size_t rows, bool descending = false, std::int64_t team = 0,
               std::size_t longest = 0, std::string const& label = "tessera::sort_segments")
      : label_(label),
        n_(n),
        rows_(rows),
        order_(descending),
        threads_(team_size(exec, team > 0 ? team : Tuning::threads, Tuning::lanes)),
        tiles_(league_of(tiles_of(n, Kernels::tile))),
        borders_(unset(label + "::borders"), tiles_ + 1),
        progress_(unset(label + "::progress")) {
    if (is_gpu<Exec> && threads_ > Tuning::threads) {
      throw Skip("a team of " + std::to_string(threads_) + " threads (it has at most " +
                 std::to_string(Tuning::threads) + " here)");
    }
    require_scratch<Exec>(Kernels::scratch_bytes(threads_));
    // A segment of m keys may lie in tiles_of(m - 1, tile) + 1 tiles.
    std::size_t const keys = longest == 0 ? n : std::min(longest, n);
    std::size_t const cut = keys > Tuning::longest_whole ? tiles_of(keys - 1, Kernels::tile) + 1 : 1;
    std::size_t const most = std::min<std::size_t>(tiles_, cut);
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
    Kernels kernels{order_,
                    keys,
                    values,
                    offsets,
                    result,
                    {passes_ > 0 ? keys_.data() : nullptr, values_.data()},
                    borders_.data(),
                    progress_.data(),
                    static_cast<std::int64_t>(n_),
                    static_cast<std::int64_t>(rows_),
                    tiles_,
                    0};  // teams
    std::size_t const bytes = Kernels::scratch_bytes(threads_);
    if (passes_ > 0) Kokkos::deep_copy(exec, progress_, 0U);
    Kokkos::parallel_for(label_ + "::borders",
                         Kokkos::RangePolicy<Exec, typename Kernels::BordersTag, Kokkos::IndexType<std::size_t>>(
                             exec, 0, static_cast<std::size_t>(tiles_) + 1),
                         kernels);
    using Tiles = Kokkos::TeamPolicy<Exec, typename Kernels::TilesTag, typename Tuning::Bounds>;
    constexpr int lanes = lane::vector_length<Exec>(Tuning::lanes);
    Kokkos::parallel_for(label_ + "::tiles", with_scratch(Tiles(exec, tiles_, threads_, lanes), bytes), kernels);
    if (passes_ == 0) return;
    using Merges = Kokkos::TeamPolicy<Exec, typename Kernels::MergeTag>;
    // Few teams: most arrays need few of the passes. Eight per multiprocessor have about as many as scratch allows.
    int const of_team = (is_gpu<Exec> ? 2 : 1) * threads_ * lanes;
    kernels.teams = static_cast<int>(std::min<std::size_t>(tiles_, teams_at_once(exec, of_team)));
    Kokkos::parallel_for(label_ + "::merge",
                         with_scratch(Merges(exec, kernels.teams * passes_, threads_, lanes), bytes), kernels);
  }

  std::string label_;
  std::size_t n_;
  std::size_t rows_;
  collective::KeyOrder<Key> order_;
  int threads_;
  int tiles_;
  int passes_ = 0;
  Kokkos::View<typename Kernels::Border*, Memory> borders_;
  Kokkos::View<std::uint32_t[3], Memory> progress_;
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
