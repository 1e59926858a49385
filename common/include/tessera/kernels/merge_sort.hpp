#pragma once
/// \file
/// A stable sort by comparisons, for keys with or without values: a team sorts each tile in scratch, then each pass
/// merges pairs of sorted runs. In a pass each team makes one tile of the result: a binary search on the merge path
/// finds the parts of both runs that it needs, the team copies them to scratch, and each lane merges as many keys
/// (detail/sort/merge_runs.hpp).
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
#include <tessera/collective/team/merge_sort.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/detail/sort/merge_runs.hpp>

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
  /// Whether a pass merges in scratch. A host reads both runs through its caches: copies cost 1 to 8 ns per key.
  static constexpr bool in_scratch = is_gpu<Exec>;
  static constexpr int in_flight = is_gpu<Exec> ? chunk : 1;  ///< keys that a lane copies at a time
};

namespace detail {

/// Sorts each tile.
template <class Exec, class T, class V, bool with_values, class Tuning>
struct SortTilesKernel {
  using Item = SortItem<T, with_values>;
  using Scratch = ScratchView<Item*, Exec>;

  collective::KeyOrder<T> order;
  T const* from;
  V const* values_from;
  T* to;
  V* values_to;
  std::size_t n;
  int tile;

  KOKKOS_FUNCTION void operator()(typename Kokkos::TeamPolicy<Exec>::member_type const& team) const {
    Scratch const a(team.team_scratch(0), tile);
    Scratch const b(team.team_scratch(0), tile);
    std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * tile;
    auto const count = static_cast<int>(Kokkos::min(n - begin, static_cast<std::size_t>(tile)));
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int i) { a(i) = Item::of(from[begin + i], i); });
    Scratch const sorted = team::merge_sort<Tuning::chunk>(
        team, a, b, count, [&](Item const& x, Item const& y) { return order.before(x.key, y.key); });
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int i) {
      Item const own = sorted(i);
      to[begin + i] = own.key;
      if constexpr (with_values) values_to[begin + i] = values_from[begin + own.place];
    });
    leave_scratch(team);
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
    shape_ = detail::MergeShape::choose<Tuning>(
        exec, with_values ? sizeof(detail::SortItem<T, true>) : sizeof(detail::SortItem<T, false>), tile, team);
    auto const size = static_cast<std::size_t>(shape_.tile);
    std::size_t const spare = n > size ? n : 0;
    keys_ = Kokkos::View<T*, Memory>(unset(label + "::keys"), spare);
    values_ = Kokkos::View<V*, Memory>(unset(label + "::values"), with_values ? spare : 0);
    splits_ = Kokkos::View<std::size_t*, Memory>(unset(label + "::splits"), spare > 0 ? tiles_of(n, size) : 0);
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
    using SortTiles = detail::SortTilesKernel<Exec, T, V, with_values, Tuning>;
    using Merge = detail::MergeRunsKernel<Exec, T, V, with_values, detail::EqualRuns, Tuning>;
    auto const size = static_cast<std::size_t>(shape_.tile);
    int const tiles = league_of(tiles_of(n_, size));
    if (tiles == 0) return;
    T* other = keys_.data();
    V* values_other = values_.data();
    for (std::size_t run = size; run < n_; run *= 2) {  // the last pass writes the result
      Kokkos::kokkos_swap(to, other);
      Kokkos::kokkos_swap(values_to, values_other);
    }
    Kokkos::parallel_for(
        label_ + "::tiles",
        with_scratch(Kokkos::TeamPolicy<Exec>(exec, tiles, shape_.threads), 2 * SortTiles::Scratch::shmem_size(size)),
        SortTiles{order, from, values_from, to, values_to, n_, shape_.tile});
    for (std::size_t run = size; run < n_; run *= 2) {
      Merge{order, to, values_to, other, values_other, splits_.data(), n_, shape_.tile, {run, n_}}.enqueue(
          exec, label_, shape_.threads);
      Kokkos::kokkos_swap(to, other);
      Kokkos::kokkos_swap(values_to, values_other);
    }
  }

  std::size_t n_;
  bool with_values_;
  detail::MergeShape shape_;
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
