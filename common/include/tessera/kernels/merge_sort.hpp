#pragma once
/// \file
/// A stable sort by comparisons, for keys with or without values: a team sorts each tile in scratch, then each pass
/// merges pairs of sorted runs. In a pass each team makes one tile of the result: a binary search on the merge path
/// finds the parts of both runs that it needs, the team copies them to scratch, and each lane merges as many keys.
///
/// Traffic: 2n (1 + p) with p = ceil(log2(n / tile)) passes (n = bytes of keys and values), and two searches per tile
/// and pass. Launches: 1 + 2p.
///
/// Example, tiles of 2: 4 1 | 3 2 | 0 -> 1 4 | 2 3 | 0 -> 1 2 3 4 | 0 -> 0 1 2 3 4.
/// Source: O. Green, R. McColl, D. Bader: GPU Merge Path (2012).
///
/// Use:  MergeSort<Exec, float, std::int32_t> sort(exec, n, with_values);
///       sort(exec, order, keys, values, sorted_keys, sorted_values);

#include <Kokkos_Core.hpp>

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

namespace tessera::kernels {

template <ExecutionSpace Exec>
struct MergeSortTuning {
  /// Keys of a chunk, which a lane sorts in registers and merges. An odd number, so that lanes that read the same place
  /// of their chunks read from different banks.
  static constexpr int chunk = is_gpu<Exec> ? 7 : 16;
  /// Chunks of a tile, at most: one per lane on a GPU. On a host a tile and its copy stay in the first-level cache.
  static constexpr int chunks = is_gpu<Exec> ? 256 : 64;
  /// Bytes of a tile and its copy, at most: several teams share a multiprocessor, and a host's scratch holds 32 KiB.
  static constexpr std::size_t most_scratch = 28672;
};

namespace detail {

/// A key in scratch, with its place in the tile if values follow.
template <class T, bool with_values>
struct SortItem {
  T key;
  std::int32_t place;
};
template <class T>
struct SortItem<T, false> {
  T key;
};

template <class Exec, class T, class V, bool with_values, class Tuning>
struct MergeSortKernels {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Item = SortItem<T, with_values>;
  using Scratch = ScratchView<Item*, Exec>;
  static constexpr int chunk = Tuning::chunk;
  struct TilesTag {};
  struct SearchTag {};
  struct MergeTag {};

  struct Before {
    collective::KeyOrder<T> order;
    KOKKOS_FUNCTION bool operator()(Item const& a, Item const& b) const { return order.before(a.key, b.key); }
    KOKKOS_FUNCTION bool operator()(T a, T b) const { return order.before(a, b); }
  };

  Before before;
  T const* from;
  V const* values_from;
  T* to;
  V* values_to;
  std::size_t* splits;  // of each tile: keys of the first run before it
  std::size_t n;
  int tile;
  std::size_t run;  // a multiple of the tile

  [[nodiscard]] KOKKOS_FUNCTION static Item item(T key, [[maybe_unused]] int place) {
    if constexpr (with_values) {
      return {key, place};
    } else {
      return {key};
    }
  }

  /// Sorts a tile.
  KOKKOS_FUNCTION void operator()(TilesTag, Member const& team) const {
    Scratch const a(team.team_scratch(0), tile);
    Scratch const b(team.team_scratch(0), tile);
    std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * tile;
    int const count = count_from(begin);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int i) { a(i) = item(from[begin + i], i); });
    Scratch const sorted = team::merge_sort<chunk>(team, a, b, count, before);
    store(team, sorted, begin, count, [&](int place) { return begin + place; });
    leave_scratch(team);
  }

  /// Finds where a tile of the result begins in the first run of its pair.
  KOKKOS_FUNCTION void operator()(SearchTag, std::size_t t) const {
    Pair const pair = pair_of(t * tile);
    T const* const first = from + pair.begin;
    T const* const second = from + pair.middle;
    splits[t] = collective::merge_path([&](std::size_t i) { return first[i]; }, pair.middle - pair.begin,
                                       [&](std::size_t i) { return second[i]; }, pair.end - pair.middle,
                                       t * tile - pair.begin, before);
  }

  /// Merges a tile of the result.
  KOKKOS_FUNCTION void operator()(MergeTag, Member const& team) const {
    Scratch const a(team.team_scratch(0), tile);
    Scratch const b(team.team_scratch(0), tile);
    auto const t = static_cast<std::size_t>(team.league_rank());
    std::size_t const begin = t * tile;
    int const count = count_from(begin);
    Pair const pair = pair_of(begin);
    std::size_t const split = splits[t];
    std::size_t const next_split = begin + tile < pair.end ? splits[t + 1] : pair.middle - pair.begin;
    int const n1 = static_cast<int>(next_split - split);
    std::size_t const first = pair.begin + split;
    std::size_t const second = pair.middle + (begin - pair.begin - split);
    auto const source = [&](int i) { return i < n1 ? first + i : second + (i - n1); };
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int i) { a(i) = item(from[source(i)], i); });
    team.team_barrier();
    for (int own = team.team_rank() * chunk; own < count; own += team.team_size() * chunk) {
      collective::merge_items([&](int i) { return a(i); }, n1, [&](int i) { return a(n1 + i); }, count - n1, own,
                              Kokkos::min(own + chunk, count), before, [&](int i, Item const& taken) { b(i) = taken; });
    }
    team.team_barrier();
    store(team, b, begin, count, source);
    leave_scratch(team);
  }

 private:
  struct Pair {
    std::size_t begin;
    std::size_t middle;
    std::size_t end;
  };
  [[nodiscard]] KOKKOS_FUNCTION Pair pair_of(std::size_t i) const {
    std::size_t const begin = i / (2 * run) * (2 * run);
    std::size_t const middle = Kokkos::min(begin + run, n);
    return {begin, middle, Kokkos::min(middle + run, n)};
  }
  [[nodiscard]] KOKKOS_FUNCTION int count_from(std::size_t begin) const {
    return n - begin < static_cast<std::size_t>(tile) ? static_cast<int>(n - begin) : tile;
  }
  // Writes the sorted items; `source(place)` is the index of the key that was at that place.
  template <class Source>
  KOKKOS_FUNCTION void store(Member const& team, Scratch const& sorted, std::size_t begin, int count,
                             Source const& source) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int i) {
      Item const own = sorted(i);
      to[begin + i] = own.key;
      if constexpr (with_values) values_to[begin + i] = values_from[source(own.place)];
    });
  }
};

}  // namespace detail

/// Sorts n keys of type T, and values of type V with them. Overlapping calls of one object need its workspace: wait for
/// one before the next, or enqueue both on one instance.
template <ExecutionSpace Exec, class T, class V = std::int32_t, class Tuning = MergeSortTuning<Exec>>
class MergeSort {
 public:
  /// Allocates a buffer for keys (and values), and one word per tile.
  ///
  /// Throws Skip if a team or its tile does not fit.
  /// \param with_values whether calls have values
  /// \param tile keys per tile, rounded up to whole chunks (0: choose)
  /// \param team threads per team (0: one per chunk on a GPU, 1 on a host)
  MergeSort(Exec const& exec, std::size_t n, bool with_values, std::int64_t tile = 0, std::int64_t team = 0,
            std::string const& label = "tessera::merge_sort")
      : n_(n), with_values_(with_values), label_(label) {
    constexpr std::size_t chunk = Tuning::chunk;
    std::size_t const bytes = 2 * (with_values ? sizeof(detail::SortItem<T, true>) : sizeof(T));
    std::size_t chunks = Tuning::chunks;
    while (chunks > 1 && chunks * chunk * bytes > Tuning::most_scratch) chunks /= 2;
    if (tile == 0) tile = static_cast<std::int64_t>(chunks * chunk);
    tile_ = static_cast<int>(tiles_of(scratch_tile<Exec>(tile, bytes, bytes * chunk), chunk) * chunk);
    threads_ = team_size(exec, team > 0 || !is_gpu<Exec> ? team : static_cast<std::int64_t>(chunks));
    std::size_t const spare = n > static_cast<std::size_t>(tile_) ? n : 0;
    keys_ = Kokkos::View<T*, Memory>(unset(label + "::keys"), spare);
    values_ = Kokkos::View<V*, Memory>(unset(label + "::values"), with_values ? spare : 0);
    splits_ = Kokkos::View<std::size_t*, Memory>(unset(label + "::splits"), spare > 0 ? tiles_of(n, tile_) : 0);
  }

  /// Enqueues the sort: `sorted` and `sorted_values` get all keys and values in the order; equal keys keep their order.
  /// Without values both arrays of values are ignored. Outputs must not overlap each other or an input. Throws
  /// std::invalid_argument if they do, and for Views of another length.
  template <class In, class ValuesIn, class Out, class ValuesOut>
    requires Readable<In, Exec, T, 1> && Readable<ValuesIn, Exec, V, 1> && Writable<Out, Exec, T, 1> &&
             Writable<ValuesOut, Exec, V, 1>
  void operator()(Exec const& exec, collective::KeyOrder<T> const& order, In const& keys, ValuesIn const& values,
                  Out const& sorted, ValuesOut const& sorted_values) const {
    require_apart(sorted, keys);
    if (with_values_) {
      require_apart(sorted, values);
      require_apart(sorted_values, keys, values, sorted);
    }
    T const* const from = contiguous(keys, n_);
    T* const to = contiguous(sorted, n_);
    if (with_values_) {
      launch<true>(exec, order, from, contiguous(values, n_), to, contiguous(sorted_values, n_));
    } else {
      launch<false>(exec, order, from, nullptr, to, nullptr);
    }
  }

 private:
  using Memory = typename Exec::memory_space;

  template <bool with_values>
  void launch(Exec const& exec, collective::KeyOrder<T> const& order, T const* from, V const* values_from, T* to,
              V* values_to) const {
    using Kernels = detail::MergeSortKernels<Exec, T, V, with_values, Tuning>;
    using Tag = typename Kernels::TilesTag;
    auto const size = static_cast<std::size_t>(tile_);
    int const tiles = league_of(tiles_of(n_, size));
    if (tiles == 0) return;
    std::size_t const bytes = 2 * Kernels::Scratch::shmem_size(size);
    T* other = keys_.data();
    V* values_other = values_.data();
    for (std::size_t run = size; run < n_; run *= 2) {  // the last pass writes the result
      Kokkos::kokkos_swap(to, other);
      Kokkos::kokkos_swap(values_to, values_other);
    }
    Kernels kernels{{order}, from, values_from, to, values_to, splits_.data(), n_, tile_, size};
    Kokkos::parallel_for(label_ + "::tiles", with_scratch(Kokkos::TeamPolicy<Exec, Tag>(exec, tiles, threads_), bytes),
                         kernels);
    for (std::size_t run = size; run < n_; run *= 2) {
      kernels.run = run;
      kernels.from = to;
      kernels.values_from = values_to;
      kernels.to = other;
      kernels.values_to = values_other;
      Kokkos::kokkos_swap(to, other);
      Kokkos::kokkos_swap(values_to, values_other);
      Kokkos::parallel_for(
          label_ + "::search",
          Kokkos::RangePolicy<Exec, typename Kernels::SearchTag, Kokkos::IndexType<std::size_t>>(exec, 0, tiles),
          kernels);
      Kokkos::parallel_for(
          label_ + "::merge",
          with_scratch(Kokkos::TeamPolicy<Exec, typename Kernels::MergeTag>(exec, tiles, threads_), bytes), kernels);
    }
  }

  std::size_t n_;
  bool with_values_;
  int threads_ = 1;
  int tile_ = 0;
  std::string label_;
  Kokkos::View<T*, Memory> keys_;
  Kokkos::View<V*, Memory> values_;
  Kokkos::View<std::size_t*, Memory> splits_;
};

/// Writes the keys of `in` [n] to `out` [n] in the order; equal keys keep their order. Convenience for a single call:
/// allocates, enqueues and waits.
template <ExecutionSpace Exec, class In, class Out>
void merge_sort(Exec const& exec, In const& in, Out const& out,
                collective::KeyOrder<typename In::non_const_value_type> const& order = {}) {
  Kokkos::View<std::int32_t*, typename Exec::memory_space> const none("tessera::merge_sort::none", 0);
  MergeSort<Exec, typename In::non_const_value_type> const sort(exec, in.extent(0), false);
  sort(exec, order, in, none, out, none);
  exec.fence("tessera: merge_sort");  // the kernel's memory is freed at the end of this call
}

/// As merge_sort(exec, in, out, order), and moves the values with their keys.
template <ExecutionSpace Exec, class In, class ValuesIn, class Out, class ValuesOut>
void merge_sort_by_key(Exec const& exec, In const& keys, ValuesIn const& values, Out const& sorted,
                       ValuesOut const& sorted_values,
                       collective::KeyOrder<typename In::non_const_value_type> const& order = {}) {
  MergeSort<Exec, typename In::non_const_value_type, typename ValuesIn::non_const_value_type> const sort(
      exec, keys.extent(0), true);
  sort(exec, order, keys, values, sorted, sorted_values);
  exec.fence("tessera: merge_sort_by_key");
}

}  // namespace tessera::kernels
