#pragma once
/// \file
/// Tuning parameters of the kernels that move items into bins: kernels/sort.hpp and kernels/split.hpp.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::kernels {

/// The type of values where there are none.
struct NoValue {};

/// Bytes of a value; 0 if there are none.
template <class Value>
inline constexpr int value_bytes = std::is_same_v<Value, NoValue> ? 0 : static_cast<int>(sizeof(Value));

/// Whether two teams that share a multiprocessor may have about 110 KB of scratch each
/// (detail/launch/large_scratch.hpp), instead of the 40 KB that Kokkos 4.6 grants on CUDA. Hosts, where only tests have
/// tiles of a GPU, have it too.
template <ExecutionSpace Exec>
inline constexpr bool has_large_scratch = !is_gpu<Exec>;
#if defined(KOKKOS_ENABLE_CUDA) && CUDART_VERSION >= 11080 && \
    (defined(KOKKOS_ARCH_HOPPER90) || defined(KOKKOS_ARCH_BLACKWELL100))
template <>
inline constexpr bool has_large_scratch<Kokkos::Cuda> = true;
#endif

/// Bytes of items, or of values, that a lane of a GPU holds without a spill, and that scratch holds.
template <class T, class Value, bool large>
inline constexpr int bytes_per_lane = large && sizeof(T) == 8                               ? 152
                                      : large                                               ? 136
                                      : value_bytes<Value> == 0                             ? 96
                                      : std::is_same_v<T, double> && value_bytes<Value> > 4 ? 64
                                                                                            : 88;

/// For GPUs. T: the items; Value: what moves with each, or NoValue. Tiles are as large as registers and scratch allow:
/// on one H100, 12 instead of 11 items of 8 bytes per lane took 3% less time per pass, 17 another 7%, 19 another 2%; 26
/// instead of 23 pairs of 4 + 4 bytes took 2% less, and 28 instead of 26 items of 4 bytes 2%.
template <ExecutionSpace Exec, class T, class Value>
struct WarpBinTuning {
  static constexpr int lanes = 32;
  static constexpr int threads = is_gpu<Exec> ? 12 : 1;  ///< per team that orders a tile: warps of a GPU
  static constexpr int look_back_words = 8;              ///< predecessors that a lane reads at a time
  /// Whether values are loaded when their items have been written, and follow through the same scratch. On one H100,
  /// 2^28 pairs of 4 + 4 bytes then took 2% less time, pairs of 8 + 4 and 8 + 8 bytes up to 1% more or less.
  static constexpr bool values_late = has_large_scratch<Exec> && value_bytes<Value> > 0 &&
                                      value_bytes<Value> <= static_cast<int>(sizeof(T));
  /// The tile is exchanged through scratch. True: values have scratch of their own beside their items. False: they
  /// follow through the same scratch, with two barriers more, and the bins of the items are kept in registers.
  static constexpr bool values_apart = has_large_scratch<Exec> && !values_late;
  static constexpr int widest = std::max(static_cast<int>(sizeof(T)), value_bytes<Value>);
  static constexpr bool large = has_large_scratch<Exec>;
  /// Items per lane. The places of the items are in registers, too (nvcc 13.0).
  static constexpr int most_rows = value_bytes<Value> == 0 ? (large ? 28 : 23) : (large ? 26 : 17);
  static constexpr int rows = std::clamp(bytes_per_lane<T, Value, large> / widest, 1, most_rows);
  static constexpr int small_rows = std::min(8, rows);  ///< of a team that sorts the whole array
  /// Two teams of 384 lanes share a multiprocessor, with 80 registers per lane.
  using Bounds = TeamBounds<Exec, 384, 2>;
  /// For long arrays with values: one team of twice the threads per multiprocessor, and tiles twice as long. A tile's
  /// items of a bin seldom end with a line of the cache, and another tile writes the rest of it: longer tiles share
  /// fewer lines. On one H100, 2^28 pairs of 8 + 4 bytes took 10% less time, of 8 + 8 bytes 11%, of 4 + 4 bytes 2%;
  /// keys alone 7 to 16% more.
  static constexpr bool has_long = is_gpu<Exec> && large && value_bytes<Value> > 0;
  static constexpr int long_threads = is_gpu<Exec> && large ? 2 * threads : threads;
  static constexpr int long_rows = rows;
  using LongBounds = TeamBounds<Exec, 768, 1>;
  /// The least number of such tiles: fewer leave multiprocessors idle at the end (2^24 pairs of 4 + 4 bytes: 8%).
  static constexpr std::size_t long_tiles = 1024;
  /// Whether a sort of a long array moves a key and its value, of 4 bytes each, as one item (joined_bins.hpp), with the
  /// tuning OfJoined. On one H100, 2^28 of them took 5% less time, 2^26 with few distinct keys 4%.
  static constexpr bool joins = is_gpu<Exec> && large && sizeof(T) == 4 && value_bytes<Value> == 4;
  template <class Item>
  using OfJoined = WarpBinTuning<Exec, Item, NoValue>;
  /// Teams that count, one per multiprocessor: 64 bytes in flight per lane, and as many counters per bin as 128 KB hold
  /// of all digits: lanes meet in few banks of the scratch. On one H100, counting 2^28 items of 4 bytes took 19%
  /// less time than with 8 counters in three teams, 2^27 items of 8 bytes 26% less.
  static constexpr int count_threads = large ? 32 : 16;
  static constexpr int count_rows = std::clamp((large ? 64 : 32) / static_cast<int>(sizeof(T)), 1, large ? 16 : 8);
  static constexpr int count_copies = !large ? 1 : sizeof(T) > 4 ? 16 : 32;
  using CountBounds = std::conditional_t<large, TeamBounds<Exec, 1024, 1>, TeamBounds<Exec, 512, 3>>;
  static constexpr double count_chunks = large ? 0.5 : 0.75;  ///< per team that fits if only lanes count
  /// Tiles of a launch that looks back, at least. A longer array takes a few launches, which share one workspace: a
  /// tile's counts take 1 KB, so that the counts of a launch take at most 1% of the array.
  static constexpr std::size_t launch_tiles = 8192;
  /// Items of the longest array whose places have 32 bits; 0: none. Keys without values took 3% more time with them.
  static constexpr std::size_t short_places = values_late ? std::size_t{1} << 32 : 0;
  /// True: kernels are written for warps, tiles are held in registers. False: plain loops over memory, for one thread.
  static constexpr bool warps = true;
  /// Whether the lanes of a warp wait for each other between rows that they write. On one H100, items of 8 bytes then
  /// took 2% less time, pairs 2 to 7% less, items of 4 bytes as much or more.
  static constexpr bool writes_in_step = value_bytes<Value> > 0 || sizeof(T) == 8;
};

/// For hosts: one thread reads its tile twice, the second time from the cache, and writes each item to its place.
template <ExecutionSpace Exec, class T, class Value>
struct HostBinTuning : WarpBinTuning<Exec, T, Value> {
  static constexpr int host_tile_bytes = 1 << 18;  ///< of items: half of a core's second-level cache
  static constexpr int small = 1 << 12;            ///< items that one thread sorts in one launch
  static constexpr double count_chunks = 1;
  static constexpr int count_copies = 1;
  static constexpr int look_back_words = 1;
  static constexpr bool warps = false;
};

/// The tuning of long arrays.
template <class Tuning>
struct LongTiles : Tuning {
  static constexpr int threads = Tuning::long_threads;
  static constexpr int rows = Tuning::long_rows;
  using Bounds = typename Tuning::LongBounds;
};

/// The tuning for the space.
template <ExecutionSpace Exec, class T, class Value = NoValue>
using BinTuning = std::conditional_t<is_gpu<Exec>, WarpBinTuning<Exec, T, Value>, HostBinTuning<Exec, T, Value>>;

namespace detail {

inline constexpr int bin_bits = 8;
inline constexpr int bin_count = 1 << bin_bits;

/// The items of a tile.
template <class T, class Tuning, int rows = Tuning::rows>
[[nodiscard]] constexpr int items_of_tile() {
  if constexpr (Tuning::warps) {
    return Tuning::threads * Tuning::lanes * rows;
  } else {
    return std::max(1, Tuning::host_tile_bytes / static_cast<int>(sizeof(T)));
  }
}

}  // namespace detail

}  // namespace tessera::kernels
