#pragma once
/// \file
/// A pass of a merge sort: merges pairs of neighbouring sorted runs of any lengths. Stable.
///
/// - `search`: for each tile of the result, a thread finds on the merge path where the tile begins in the first run of
///   its pair. All searches run at once, because each waits for log2(run) reads, one after the other.
/// - `merge`: a team makes a tile. It copies the keys that the tile needs of both runs to scratch, each thread merges
///   its part of them, and the team writes the result: neighbouring threads read and write neighbouring keys. Values
///   are read from where their keys were. A host's cores merge from memory (Tuning::in_scratch).
///
/// Traffic: keys and values are read and written once. Memory: one word per tile.
///
/// Example, tiles of 3: runs 1 4 6 | 2 3 | 5 -> splits 0 1, tiles 1 2 3 | 4 6 5: the second tile has the rest of the
/// first pair, and a run without a partner.
/// Source: O. Green, R. McColl, D. Bader: GPU Merge Path (2012).

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/key_order.hpp>
#include <tessera/collective/merge_path.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::kernels::detail {

/// A key in scratch, with its place in the tile if values follow.
template <class T, bool with_values>
struct SortItem {
  T key;
  std::int32_t place;

  [[nodiscard]] KOKKOS_FUNCTION static SortItem of(T key, int place) { return {key, place}; }
};
template <class T>
struct SortItem<T, false> {
  T key;

  [[nodiscard]] KOKKOS_FUNCTION static SortItem of(T key, int) { return {key}; }
};

/// Keys per tile and threads per team of kernels that have a tile and its copy in scratch.
struct MergeShape {
  int tile = 0;
  int threads = 1;

  /// Throws Skip if a team or its tile does not fit.
  /// \param tile keys per tile, rounded up to whole chunks (0: choose)
  /// \param team threads per team (0: one per chunk on a GPU, 1 on a host)
  template <class Tuning, ExecutionSpace Exec>
  [[nodiscard]] static MergeShape choose(Exec const& exec, std::size_t item_bytes, std::int64_t tile = 0,
                                         std::int64_t team = 0) {
    constexpr std::size_t chunk = Tuning::chunk;
    std::size_t const bytes = 2 * item_bytes;
    std::size_t chunks = Tuning::chunks;
    while (chunks > 1 && chunks * chunk * bytes > Tuning::most_scratch) chunks /= 2;
    if (tile == 0) tile = static_cast<std::int64_t>(chunks * chunk);
    MergeShape shape;
    shape.tile = static_cast<int>(tiles_of(scratch_tile<Exec>(tile, bytes, bytes * chunk), chunk) * chunk);
    shape.threads = team_size(exec, team > 0 || !is_gpu<Exec> ? team : static_cast<std::int64_t>(chunks));
    return shape;
  }
};

/// Two neighbouring runs: the first from `begin`, the second from `middle` to `end - 1`. Either may be empty.
struct RunPair {
  std::size_t begin;
  std::size_t middle;
  std::size_t end;
};

/// Runs of `run` keys, the last one of fewer.
struct EqualRuns {
  std::size_t run;
  std::size_t n;

  /// Returns the pair that makes element i of the result.
  [[nodiscard]] KOKKOS_FUNCTION RunPair pair_of(std::size_t i) const {
    std::size_t const begin = i / (2 * run) * (2 * run);
    std::size_t const middle = Kokkos::min(begin + run, n);
    return {begin, middle, Kokkos::min(middle + run, n)};
  }
};

/// Runs of `length` pieces each, where pieces have any lengths.
struct RunsOfPieces {
  std::size_t const* begins;  // of the pieces, and the end of the last one
  std::size_t length;
  std::size_t pieces;

  [[nodiscard]] KOKKOS_FUNCTION std::size_t begin_of(std::size_t run) const {
    return begins[Kokkos::min(run * length, pieces)];
  }
  [[nodiscard]] KOKKOS_FUNCTION RunPair pair_of(std::size_t i) const {
    std::size_t low = 0;
    std::size_t high = (pieces - 1) / (2 * length);
    while (low < high) {  // the last pair that begins at i or before: those before it may be empty
      std::size_t const middle = high - (high - low) / 2;
      if (begin_of(2 * middle) <= i) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return {begin_of(2 * low), begin_of(2 * low + 1), begin_of(2 * low + 2)};
  }
};

/// \tparam Runs the runs: `runs.pair_of(i)` is the pair that makes element i < n of the result
template <class Exec, class T, class V, bool with_values, class Runs, class Tuning>
struct MergeRunsKernel {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Item = SortItem<T, with_values>;
  using Scratch = ScratchView<Item*, Exec>;
  static constexpr int in_flight = Tuning::in_flight;
  struct SearchTag {};
  struct MergeTag {};

  collective::KeyOrder<T> order;
  T const* from;
  V const* values_from;
  T* to;
  V* values_to;
  std::size_t* splits;  // of each tile: keys of the first run before it
  std::size_t n;
  int tile;
  Runs runs;

  /// Enqueues the pass.
  void enqueue(Exec const& exec, std::string const& label, int threads) const {
    int const tiles = league_of(tiles_of(n, static_cast<std::size_t>(tile)));
    if (tiles == 0) return;
    Kokkos::parallel_for(
        label + "::search",
        Kokkos::RangePolicy<Exec, SearchTag, Kokkos::IndexType<std::size_t>>(exec, 0, static_cast<std::size_t>(tiles)),
        *this);
    Kokkos::parallel_for(label + "::merge",
                         with_scratch(Kokkos::TeamPolicy<Exec, MergeTag>(exec, tiles, threads),
                                      Tuning::in_scratch ? 2 * Scratch::shmem_size(static_cast<std::size_t>(tile)) : 0),
                         *this);
  }

  /// Finds where a tile of the result begins in the first run of its pair.
  KOKKOS_FUNCTION void operator()(SearchTag, std::size_t t) const {
    std::size_t const begin = t * tile;
    RunPair const pair = runs.pair_of(begin);
    T const* const first = from + pair.begin;
    T const* const second = from + pair.middle;
    splits[t] = collective::merge_path([&](std::size_t i) { return first[i]; }, pair.middle - pair.begin,
                                       [&](std::size_t i) { return second[i]; }, pair.end - pair.middle,
                                       begin - pair.begin, [&](T x, T y) { return order.before(x, y); });
  }

  /// Merges a tile of the result.
  KOKKOS_FUNCTION void operator()(MergeTag, Member const& team) const {
    Scratch const a(team.team_scratch(0), Tuning::in_scratch ? tile : 0);
    Scratch const b(team.team_scratch(0), Tuning::in_scratch ? tile : 0);
    auto const t = static_cast<std::size_t>(team.league_rank());
    std::size_t const tile_begin = t * tile;
    std::size_t const tile_end = Kokkos::min(tile_begin + tile, n);
    for (std::size_t begin = tile_begin; begin < tile_end;) {
      RunPair const pair = runs.pair_of(begin);
      std::size_t const end = Kokkos::min(tile_end, pair.end);
      std::size_t const split = begin == tile_begin ? splits[t] : 0;
      std::size_t const next_split = end < pair.end ? splits[t + 1] : pair.middle - pair.begin;
      merge(team, a, b, pair, begin, static_cast<int>(end - begin), split, static_cast<int>(next_split - split));
      begin = end;
    }
  }

 private:
  /// Makes `count` keys from `begin` on; n1 of them are in the first run, from its key `split` on.
  KOKKOS_FUNCTION void merge(Member const& team, Scratch const& a, Scratch const& b, RunPair const& pair,
                             std::size_t begin, int count, std::size_t split, int n1) const {
    std::size_t const first = pair.begin + split;
    std::size_t const second = pair.middle + (begin - pair.begin - split);
    int const own = (count + team.team_size() - 1) / team.team_size();
    int const own_begin = Kokkos::min(team.team_rank() * own, count);
    int const own_end = Kokkos::min(own_begin + own, count);
    auto const before = [&](T x, T y) { return order.before(x, y); };
    if constexpr (Tuning::in_scratch) {
      auto const source = [&](int i) { return i < n1 ? first + i : second + (i - n1); };
      for_each_in_flight<T>(
          team, count, [&](int i) { return from[source(i)]; }, [&](int i, T key) { a(i) = Item::of(key, i); });
      team.team_barrier();
      collective::merge_items([&](int i) { return a(i); }, n1, [&](int i) { return a(n1 + i); }, count - n1, own_begin,
                              own_end, [&](Item const& x, Item const& y) { return before(x.key, y.key); },
                              [&](int i, Item const& taken) { b(i) = taken; });
      team.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int i) { to[begin + i] = b(i).key; });
      if constexpr (with_values) {
        for_each_in_flight<V>(
            team, count, [&](int i) { return values_from[source(b(i).place)]; },
            [&](int i, V value) { values_to[begin + i] = value; });
      }
      leave_scratch(team);
    } else {
      collective::merge_items([&](int i) { return first + i; }, n1, [&](int i) { return second + i; }, count - n1,
                              own_begin, own_end,
                              [&](std::size_t x, std::size_t y) { return before(from[x], from[y]); },
                              [&](int i, std::size_t place) {
                                to[begin + i] = from[place];
                                if constexpr (with_values) values_to[begin + i] = values_from[place];
                              });
    }
  }

  /// Calls `store(i, load(i))` for all i < count. Several loads of a thread are in flight at a time.
  template <class Loaded, class Load, class Store>
  KOKKOS_FUNCTION static void for_each_in_flight(Member const& team, int count, Load const& load, Store const& store) {
    int const stride = team.team_size();
    for (int first = team.team_rank(); first < count; first += in_flight * stride) {
      Loaded loaded[in_flight];
      TESSERA_UNROLL
      for (int k = 0; k < in_flight; ++k) {
        if (first + k * stride < count) loaded[k] = load(first + k * stride);
      }
      TESSERA_UNROLL
      for (int k = 0; k < in_flight; ++k) {
        if (first + k * stride < count) store(first + k * stride, loaded[k]);
      }
    }
  }
};

}  // namespace tessera::kernels::detail
