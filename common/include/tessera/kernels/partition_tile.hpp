#pragma once
/// \file
/// What the kernels of partition.hpp share: the choice of tiles, the register tile of a thread, the scratch of a team,
/// and how a team writes a tile whose elements stand in scratch in their new order.
///
/// Example, left is < 5, two threads of 4 elements: 3 7 1 8 | 9 2 6 4 -> lefts 2 and 2, before them 0 and 2
/// -> scratch 3 1 2 4 | 7 8 9 6.

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
#include <tessera/kernels/team_shape.hpp>

namespace tessera::kernels {

/// For lanes of a warp: eight rows of 16-byte packs, 128 bytes a lane in flight, and tiles of 32 KiB for teams of 256
/// lanes.
template <class T>
struct WarpPartitionTuning {
  static constexpr int lanes = 32;
  static constexpr int rows = 8;
  static constexpr int pack = collective::pack_width<T>;
  static constexpr int tile_bytes = 32 << 10;  ///< of scratch at most
  static constexpr int threads = 0;            ///< of a team, where the user names none; 0: 256 lanes' worth
  /// Kernels are written for warps: a warp writes lines of 128 bytes, with several accesses of a lane under way;
  /// elements that are not wanted are left out; loops over registers have constant lengths; and the second launch
  /// begins with the chunks that the first one left in the caches.
  static constexpr bool warps = true;
  static constexpr int stores_in_flight = 8;   ///< of a lane, an element each
  static constexpr int tiles_of_count = 2;     ///< of a team that only counts
  static constexpr int longest_segment = 512;  ///< that the lanes of a thread hold in rows
  /// How many tiles ahead of its own lies the one that a team of a single pass asks for, so that another team finds it in the
  /// cache. \param bytes of a tile. 16 KiB a multiprocessor: 2^28 floats on an H100 take 750 us, without 805, with four times as
  /// much 854.
  template <ExecutionSpace Exec>
  [[nodiscard]] static int ahead(Exec const& exec, std::size_t bytes) {
    std::size_t const all = std::min<std::size_t>(multiprocessors(exec) * 16384, last_cache_of_gpu(exec) / 16);
    return static_cast<int>(std::max<std::size_t>(1, all / bytes));
  }
  static constexpr int segment_groups = 1;  ///< groups of rows that a thread takes one after the other
  /// Two teams of 512 lanes must fit on a multiprocessor: so no lane takes more than 64 registers, and four teams of
  /// 256 lanes fit as well. While one asks its predecessors, the others load and store.
  using Bounds = Kokkos::LaunchBounds<512, 2>;
  /// Up to so many elements, counts have 32 bits and share a word with their flag.
  static constexpr std::size_t most_in_32_bits = std::numeric_limits<std::uint32_t>::max();
};

/// The same for AMD's GPUs, with smaller tiles: a compute unit has 64 KiB of scratch, so that with tiles of 32 KiB, and
/// the numbers beside them, it would run one team at a time. This is reasoned; it has not been timed.
template <class T>
struct WavefrontPartitionTuning : WarpPartitionTuning<T> {
  static constexpr int threads = 4;
};

/// For hosts: eight rows of cache lines, and plain loops, which a compiler vectorises.
template <ExecutionSpace Exec, class T>
struct HostPartitionTuning : WarpPartitionTuning<T> {
  static constexpr int lanes = lane::natural_width<Exec>;
  static constexpr int pack = 4 * collective::pack_width<T>;
  static constexpr bool warps = false;
  /// None: a processor foresees contiguous reads by itself.
  [[nodiscard]] static int ahead(Exec const&, std::size_t) { return 0; }
  static constexpr int segment_groups = 16;  ///< starting a team costs more than a few segments do
};

/// The tuning that suits the space.
template <ExecutionSpace Exec, class T>
using PartitionTuning =
    std::conditional_t<is_hip<Exec>, WavefrontPartitionTuning<T>,
                       std::conditional_t<is_gpu<Exec>, WarpPartitionTuning<T>, HostPartitionTuning<Exec, T>>>;

namespace detail {

/// `a` if `first` is 1, `b` if it is 0, without a branch: on random data a host would mispredict every second one.
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr int either(int first, int a, int b) { return b ^ ((a ^ b) & -first); }

/// One thread's part of an array, in registers, for a stable split into left and right elements: it finds for every
/// element how many left ones stand before it in the part.
///
/// Who calls: all lanes of one thread; `part` and `count` are the same in all of them. Scratch, barriers: none.
///
/// The counts of four rows share a 32-bit word, 8 bits each, so that one scan over the lanes serves four rows: a row has
/// at most 255 elements.
///
/// Example, W = 2, N = 2, one row, left is < 5: 3 7 1 8 -> 2 left ones; 3 goes to left place 0, 1 to left place 1, 7 to
/// right place 0, 8 to right place 1.
template <lane::Lanes L, class T, int RowCount, int N>
class SplitRows {
  static_assert(L::width * N <= 255, "Tessera: the count of a row takes 8 bits");

 public:
  static constexpr int rows = RowCount;
  static constexpr int pack = N;
  static constexpr int size = RowCount * L::width * N;

  /// Loads the first `count` elements of `part`; no others are read.
  KOKKOS_FUNCTION void load(L const& lanes, T const* part, int count) {
    count_ = count;
    thread::load_rows(lanes, part, count, T{}, values_);
  }

  /// Counts the left elements: returns how many there are, the same in every lane.
  template <class Predicate>
  [[nodiscard]] KOKKOS_FUNCTION int count(L const& lanes, Predicate const& is_left) {
    return count_ == size ? count_some<true>(lanes, is_left) : count_some<false>(lanes, is_left);
  }

  /// Calls `put(i, rank, left, value)` for each element, i its place in the part, rank the number of left elements before
  /// it in the part, left 1 or 0. After `count`, with the same predicate.
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
            // All comparisons are made here, so that they are vectorised, and the compiler makes no branch of them
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
  typename L::template Value<Counts> before_;  // the left ones in the lanes before, for each row
  Counts of_rows_;
  int count_;
};

/// How teams share an array: threads, the elements of a tile, and those of each thread.
template <ExecutionSpace Exec, class T, class Tuning>
struct PartitionShape {
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using Part = SplitRows<Lanes, T, Tuning::rows, Tuning::pack>;
  static constexpr int vector_length = lane::vector_length<Exec>(Lanes::width);

  int threads;       // of a team
  int part;          // elements of a tile that are one thread's
  std::size_t tile;  // elements of a tile

  /// Throws Skip if the space has no such team, or too little scratch for it.
  PartitionShape(Exec const& exec, std::int64_t requested_tile, std::int64_t team)
      : threads(team_size(exec, team > 0 ? team : Tuning::threads, vector_length)) {
    // The team's scratch, less some numbers for each thread. A large team has no larger tile than a usual one.
    int const there = Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0) - 2048 - 24 * threads;
    auto const elements = std::clamp(there, 0, Tuning::tile_bytes) / static_cast<int>(sizeof(T));
    if (elements < threads) throw Skip("a team of " + std::to_string(threads) + " threads (its scratch is too small)");
    auto const most = static_cast<std::size_t>(std::min(threads * Part::size, elements));
    tile = requested_tile == 0 ? most : std::min(static_cast<std::size_t>(requested_tile), most);
    // The threads share the tile evenly, also where it does not fill their registers.
    part = static_cast<int>((tile + threads - 1) / threads);
  }
};

/// What stands behind the left elements of a tile in scratch: nothing, the right ones, or these from the last to the first.
enum class RightOrder : std::uint8_t { none, kept, reversed };

/// A team's tile: loaded into registers, then put into its new order in scratch.
template <class Shape, class T, class Predicate, class Tuning>
class PartitionTile {
 public:
  using Lanes = typename Shape::Lanes;

  struct Counts {
    int lefts;   // in the tile
    int before;  // of them before this thread's part
  };

  /// Loads a tile of `count` elements and counts its left ones. Who calls: all lanes of the team. Scratch: `totals`, a
  /// number for each thread, which may be written again after the caller's next barrier. Barriers: one.
  template <class Member>
  [[nodiscard]] KOKKOS_FUNCTION Counts load(Member const& team, T const* tile, int part, int count,
                                            Predicate const& is_left, int* totals) {
    begin_ = Kokkos::min(static_cast<int>(team.team_rank()) * part, count);
    part_.load(Lanes{}, tile + begin_, Kokkos::min(part, count - begin_));
    int const lefts = part_.count(Lanes{}, is_left);
    auto const threads = team::scan_threads(team, Lanes{}, lefts, totals, collective::Sum<int>{});
    return {threads.total, threads.before};
  }

  /// Puts the left elements to exchange[0, lefts), and the right ones, if they are wanted, behind them. `count`: elements of
  /// the tile. Who calls: all lanes. Barriers: none; other threads find the elements after the next one.
  template <RightOrder order>
  KOKKOS_FUNCTION void exchange(Predicate const& is_left, Counts const& counts, int count, T* exchange) const {
    int const begin = begin_;
    int const before = counts.before;
    int const lefts = counts.lefts;
    part_.place(Lanes{}, is_left, [=](int i, int rank, int left, T const& value) {
      int const place = before + rank;
      int const rights = (begin + i) - place;  // before this element
      // A host stores the right ones even if they are not wanted: a store costs less than a branch.
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

/// Asks for the thread's part of the tile that begins at `tile`, before `end`, so that it is in the cache when a team reads it.
/// Who calls: all lanes of the team. Barriers: none.
template <class Shape, class T, class Member>
KOKKOS_FUNCTION void prefetch_part(Member const& team, T const* in, std::size_t tile, std::size_t end, int part) {
  std::size_t const begin = tile + static_cast<std::size_t>(team.team_rank()) * part;
  if (begin >= end) return;
  int const count = thread::count_before(begin, end, part);
  typename Shape::Lanes{}.each([&](int lane) { collective::prefetch(in + begin, count, lane, Shape::Lanes::width); });
}

/// How many elements `to` lies behind the begin of its 128-byte line: so that each access of a warp can go to one line.
template <class Tuning, class T>
[[nodiscard]] KOKKOS_FUNCTION int behind_line(T const* to) {
  return Tuning::warps ? static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(T) % (128 / sizeof(T))) : 0;
}

/// A lane's elements that are on their way.
template <class T, int Count>
struct InFlight {
  T at[Count];
};

/// Copies `count` elements from a team's scratch to consecutive places in memory; on a GPU each lane has several under
/// way. Who calls: all lanes of the team. Barriers: none.
template <class Shape, class Tuning, class T, class Member>
KOKKOS_FUNCTION void store_run(Member const& team, T const* from, int count, T* to) {
  if constexpr (Tuning::warps) {
    constexpr int in_flight = Tuning::stores_in_flight;
    using Block = InFlight<T, in_flight>;
    typename Shape::Lanes const lanes;
    int const stride = Shape::Lanes::width * team.team_size();
    for (int begin = -behind_line<Tuning>(to); begin < count; begin += in_flight * stride) {
      int const first = begin + Shape::Lanes::width * team.team_rank();
      auto block = lanes.template fill<Block>({});
      lanes.each(
          [&](int lane, Block& own) {
            for (int k = 0; k < in_flight; ++k) {
              int const i = first + k * stride + lane;
              if (i >= 0 && i < count) own.at[k] = from[i];
            }
          },
          block);
      lanes.each(
          [&](int lane, Block const& own) {
            for (int k = 0; k < in_flight; ++k) {
              int const i = first + k * stride + lane;
              if (i >= 0 && i < count) to[i] = own.at[k];
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
