#pragma once
/// \file
/// Common parts of the kernels of partition.hpp: the choice of tiles, the register tile of a thread, the scratch of a
/// team, and how a team writes a tile whose elements are in scratch in their new order.
///
/// Example, left is < 5, two threads of 4 elements: 3 7 1 8 | 9 2 6 4 -> left counts 2 and 2; left elements before the
/// threads 0 and 2 -> scratch 3 1 2 4 | 7 8 9 6.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/prefetch.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/collective/thread/scan.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::kernels {

/// For GPUs: eight rows of 16-byte packs, 128 bytes in flight per lane, and tiles of 32 KiB for teams of 256 lanes.
template <class T>
struct WarpPartitionTuning {
  static constexpr int lanes = 32;
  static constexpr int rows = 8;
  static constexpr int pack = collective::pack_width<T>;
  static constexpr int tile_bytes = 32 << 10;  ///< of scratch, at most
  static constexpr int threads = 0;            ///< per team, if the user gives none; 0: 256 lanes
  /// True: kernels are written for warps. A warp writes lines of 128 bytes, with several accesses per lane in flight;
  /// unwanted elements are skipped; loops over registers have constant lengths; the second launch begins with the
  /// chunks that the first one left in the caches.
  static constexpr bool warps = true;
  static constexpr int stores_in_flight = 8;   ///< per lane, one element each
  static constexpr int tiles_of_count = 2;     ///< per team that only counts
  static constexpr int longest_segment = 512;  ///< longest segment that the lanes of a thread hold in rows
  /// Prefetch distance in tiles, for a single pass: a team prefetches a later tile into the cache for another team. On
  /// a GPU the distance is 16 KiB per multiprocessor: 2^28 floats on an H100 take 750 us; without prefetch 805 us, with
  /// four times the distance 854 us.
  ///
  /// \param bytes size of a tile
  template <ExecutionSpace Exec>
  [[nodiscard]] static int ahead(Exec const& exec, std::size_t bytes) {
    std::size_t const all = std::min<std::size_t>(multiprocessors(exec) * 16384, last_cache_of_gpu(exec) / 16);
    return static_cast<int>(std::max<std::size_t>(1, all / bytes));
  }
  static constexpr int segment_groups = 1;  ///< groups of rows that a thread handles one after the other
  /// Two teams of 512 lanes must fit on a multiprocessor, so that a lane takes at most 64 registers; four teams of 256
  /// lanes then fit, too. While one team reads its predecessors, the others load and store.
  using Bounds = Kokkos::LaunchBounds<512, 2>;
  /// Up to this number of elements, counts have 32 bits and share a word with their flag.
  static constexpr std::size_t most_in_32_bits = std::numeric_limits<std::uint32_t>::max();
};

/// For AMD GPUs, with smaller tiles: a compute unit has 64 KiB of scratch, so that only one team with a tile of 32 KiB
/// and its numbers would be resident. Not yet measured on AMD hardware.
template <class T>
struct WavefrontPartitionTuning : WarpPartitionTuning<T> {
  static constexpr int threads = 4;
};

/// For hosts: eight rows of cache lines, and plain loops, which a compiler vectorizes.
template <ExecutionSpace Exec, class T>
struct HostPartitionTuning : WarpPartitionTuning<T> {
  static constexpr int lanes = lane::natural_width<Exec>;
  static constexpr int pack = 4 * collective::pack_width<T>;
  static constexpr bool warps = false;
  /// None: a processor prefetches contiguous reads in hardware.
  [[nodiscard]] static int ahead(Exec const&, std::size_t) { return 0; }
  static constexpr int segment_groups = 16;  ///< starting a team costs more than a few segments
};

/// The tuning for the space.
template <ExecutionSpace Exec, class T>
using PartitionTuning =
    std::conditional_t<is_hip<Exec>, WavefrontPartitionTuning<T>,
                       std::conditional_t<is_gpu<Exec>, WarpPartitionTuning<T>, HostPartitionTuning<Exec, T>>>;

namespace detail {

/// Returns `a` if `first` is 1 and `b` if it is 0, without a branch, which a host would mispredict every second time on
/// random data.
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr int either(int first, int a, int b) { return b ^ ((a ^ b) & -first); }

/// One thread's part of an array, in registers, for a stable split into left and right elements: computes for every
/// element the number of left elements before it in the part.
///
/// Must be called by all lanes of one thread, with the same `part` and `count`. No scratch, no barriers.
///
/// The counts of four rows share a 32-bit word, 8 bits each, so that one scan over the lanes serves four rows; a row
/// has therefore at most 255 elements.
///
/// Example, W = 2, N = 2, one row, left is < 5: 3 7 1 8 -> 2 left elements; 3 goes to left place 0, 1 to left place 1,
/// 7 to right place 0, 8 to right place 1.
template <lane::Lanes L, class T, int RowCount, int N>
class SplitRows {
  static_assert(L::width * N <= 255, "Tessera: the count of a row takes 8 bits");

 public:
  static constexpr int rows = RowCount;
  static constexpr int pack = N;
  static constexpr int size = RowCount * L::width * N;

  /// Loads the first `count` elements of `part`, and no others.
  KOKKOS_FUNCTION void load(L const& lanes, T const* part, int count) {
    count_ = count;
    thread::load_rows(lanes, part, count, T{}, values_);
  }

  /// Returns the number of left elements, in every lane.
  template <class Predicate>
  [[nodiscard]] KOKKOS_FUNCTION int count(L const& lanes, Predicate const& is_left) {
    return count_ == size ? count_some<true>(lanes, is_left) : count_some<false>(lanes, is_left);
  }

  /// Calls `put(i, rank, left, value)` for each element: i is its place in the part, rank the number of left elements
  /// before it in the part, left 1 or 0. Must be called after `count`, with the same predicate.
  template <class Predicate, class Put>
  KOKKOS_FUNCTION void place(L const& lanes, Predicate const& is_left, Put const& put) const {
    if (count_ == size) {
      place_some<true>(lanes, is_left, put);
    } else {
      place_some<false>(lanes, is_left, put);
    }
  }

 private:
  static constexpr int words = (RowCount + 3) / 4;
  using Own = thread::Rows<T, RowCount, N>;
  struct Counts {
    std::uint32_t word[words];
    [[nodiscard]] KOKKOS_FUNCTION int of_row(int row) const {
      return static_cast<int>((word[row / 4] >> (8 * (row % 4))) & 0xffu);
    }
  };
  struct AddCounts {
    [[nodiscard]] KOKKOS_FUNCTION Counts operator()(Counts const& a, Counts const& b) const {
      Counts sum;
      for (int w = 0; w < words; ++w) sum.word[w] = a.word[w] + b.word[w];
      return sum;
    }
  };

  template <bool is_whole, class Predicate>
  [[nodiscard]] KOKKOS_FUNCTION int count_some(L const& lanes, Predicate const& is_left) {
    int const count = count_;
    auto own = lanes.template fill<Counts>({});
    lanes.each(
        [&](int lane, Own const& values, Counts& counts) {
          for (int row = 0; row < RowCount; ++row) {
            std::uint32_t lefts = 0;
            for (int e = 0; e < N; ++e) {
              bool const is_there = is_whole || thread::row_offset<L::width, N>(row, lane, e) < count;
              lefts += is_there && is_left(values.at[row][e]) ? 1u : 0u;
            }
            counts.word[row / 4] += lefts << (8 * (row % 4));
          }
        },
        values_, own);
    before_ = own;
    thread::inclusive_scan(lanes, before_, AddCounts{});
    of_rows_ = lanes.template read<Counts>(before_, L::width - 1);
    lanes.each(
        [&](int, Counts& before, Counts const& counts) {
          for (int w = 0; w < words; ++w) before.word[w] -= counts.word[w];
        },
        before_, own);
    int total = 0;
    for (int row = 0; row < RowCount; ++row) total += of_rows_.of_row(row);
    return total;
  }

  template <bool is_whole, class Predicate, class Put>
  KOKKOS_FUNCTION void place_some(L const& lanes, Predicate const& is_left, Put const& put) const {
    int const count = count_;
    Counts const of_rows = of_rows_;
    lanes.each(
        [&](int lane, Own const& values, Counts const& before) {
          int earlier_rows = 0;
          for (int row = 0; row < RowCount; ++row) {
            int rank = earlier_rows + before.of_row(row);
            // All comparisons are done here, so that they are vectorized and the compiler generates no branch for them
            // below.
            int lefts[N];
            for (int e = 0; e < N; ++e) lefts[e] = is_left(values.at[row][e]) ? 1 : 0;
            for (int e = 0; e < N; ++e) {
              int const i = thread::row_offset<L::width, N>(row, lane, e);
              if (is_whole || i < count) {
                put(i, rank, lefts[e], values.at[row][e]);
                rank += lefts[e];
              }
            }
            earlier_rows += of_rows.of_row(row);
          }
        },
        values_, before_);
  }

  typename L::template Value<Own> values_;
  typename L::template Value<Counts> before_;  // left elements in the lanes before, per row
  Counts of_rows_;
  int count_;
};

/// How teams share an array: threads per team, elements per tile, and elements per thread.
template <ExecutionSpace Exec, class T, class Tuning>
struct PartitionShape {
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using Part = SplitRows<Lanes, T, Tuning::rows, Tuning::pack>;
  static constexpr int vector_length = lane::vector_length<Exec>(Lanes::width);

  int threads;       // per team
  int part;          // elements of a tile per thread
  std::size_t tile;  // elements of a tile

  /// Throws Skip if the space has no such team, or too little scratch for it.
  PartitionShape(Exec const& exec, std::int64_t requested_tile, std::int64_t team)
      : threads(team_size(exec, team > 0 ? team : Tuning::threads, vector_length)) {
    // The team's scratch, minus a few numbers per thread. A large team has no larger tile than a normal one.
    int const there = Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0) - 2048 - 24 * threads;
    auto const elements = std::clamp(there, 0, Tuning::tile_bytes) / static_cast<int>(sizeof(T));
    if (elements < threads) throw Skip("a team of " + std::to_string(threads) + " threads (its scratch is too small)");
    auto const most = static_cast<std::size_t>(std::min(threads * Part::size, elements));
    tile = requested_tile == 0 ? most : std::min(static_cast<std::size_t>(requested_tile), most);
    // The threads share the tile evenly, even if it does not fill their registers.
    part = static_cast<int>((tile + threads - 1) / threads);
  }
};

/// What follows the left elements of a tile in scratch: nothing, the right elements, or the right elements in reverse
/// order.
enum class RightOrder : std::uint8_t { none, kept, reversed };

/// A team's tile, which is loaded into registers and then reordered in scratch.
template <class Shape, class T, class Predicate, class Tuning>
class PartitionTile {
 public:
  using Lanes = typename Shape::Lanes;

  struct Counts {
    int lefts;   // in the tile
    int before;  // left elements before this thread's part
  };

  /// Loads a tile of `count` elements and counts its left elements. Must be called by all lanes of the team. Scratch:
  /// `totals`, one number per thread, which may be overwritten after the caller's next barrier. One barrier.
  template <class Member>
  [[nodiscard]] KOKKOS_FUNCTION Counts load(Member const& team, T const* tile, int part, int count,
                                            Predicate const& is_left, int* totals) {
    begin_ = Kokkos::min(static_cast<int>(team.team_rank()) * part, count);
    part_.load(Lanes{}, tile + begin_, Kokkos::min(part, count - begin_));
    int const lefts = part_.count(Lanes{}, is_left);
    auto const threads = team::scan_threads(team, Lanes{}, lefts, totals, collective::Sum<int>{});
    return {threads.total, threads.before};
  }

  /// Writes the left elements to exchange[0, lefts), and the right elements after them, if they are wanted. `count`:
  /// elements of the tile. Must be called by all lanes. No barriers; other threads may read the elements after the next
  /// barrier.
  template <RightOrder order>
  KOKKOS_FUNCTION void exchange(Predicate const& is_left, Counts const& counts, int count, T* exchange) const {
    int const begin = begin_;
    int const before = counts.before;
    int const lefts = counts.lefts;
    part_.place(Lanes{}, is_left, [=](int i, int rank, int left, T const& value) {
      int const place = before + rank;
      int const rights = (begin + i) - place;  // before this element
      // A host stores the right elements even if they are not wanted: a store costs less than a branch.
      if constexpr (order == RightOrder::reversed) {
        exchange[either(left, place, count - 1 - rights)] = value;
      } else if constexpr (order == RightOrder::kept || !Tuning::warps) {
        exchange[either(left, place, lefts + rights)] = value;
      } else {
        if (left != 0) exchange[place] = value;
      }
    });
  }

 private:
  typename Shape::Part part_;
  int begin_;  // of this thread's part
};

/// Prefetches the thread's part of the tile that begins at `tile`, up to `end`, so that it is in the cache when a team
/// reads it. Must be called by all lanes of the team. No barriers.
template <class Shape, class T, class Member>
KOKKOS_FUNCTION void prefetch_part(Member const& team, T const* in, std::size_t tile, std::size_t end, int part) {
  std::size_t const begin = tile + static_cast<std::size_t>(team.team_rank()) * part;
  if (begin >= end) return;
  int const count = thread::count_before(begin, end, part);
  typename Shape::Lanes{}.each([&](int lane) { collective::prefetch(in + begin, count, lane, Shape::Lanes::width); });
}

/// Returns the number of elements between the begin of the 128-byte line of `to` and `to`, so that each access of a
/// warp can be to one line.
template <class Tuning, class T>
[[nodiscard]] KOKKOS_FUNCTION int behind_line(T const* to) {
  return Tuning::warps ? static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(T) % (128 / sizeof(T))) : 0;
}

/// Copies `count` elements from a team's scratch to contiguous memory; on a GPU each lane has several in flight. Must
/// be called by all lanes of the team. No barriers.
template <class Shape, class Tuning, class T, class Member>
KOKKOS_FUNCTION void store_run(Member const& team, T const* from, int count, T* to) {
  if constexpr (Tuning::warps) {
    constexpr int in_flight = Tuning::stores_in_flight;
    using Block = Kokkos::Array<T, in_flight>;
    typename Shape::Lanes const lanes;
    int const stride = Shape::Lanes::width * team.team_size();
    for (int begin = -behind_line<Tuning>(to); begin < count; begin += in_flight * stride) {
      int const first = begin + Shape::Lanes::width * team.team_rank();
      auto block = lanes.template fill<Block>({});
      lanes.each(
          [&](int lane, Block& own) {
            for (int k = 0; k < in_flight; ++k) {
              int const i = first + k * stride + lane;
              if (i >= 0 && i < count) own[k] = from[i];
            }
          },
          block);
      lanes.each(
          [&](int lane, Block const& own) {
            for (int k = 0; k < in_flight; ++k) {
              int const i = first + k * stride + lane;
              if (i >= 0 && i < count) to[i] = own[k];
            }
          },
          block);
    }
  } else {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count), [&](int i) { to[i] = from[i]; });
  }
}

}  // namespace detail

}  // namespace tessera::kernels
