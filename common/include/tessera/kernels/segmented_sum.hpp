#pragma once
/// \file
/// Sums of segments of any lengths: out[r] = in[offsets[r]] + ... + in[offsets[r + 1] - 1]. Two launches without
/// atomics: the result is bitwise reproducible.
///
/// Elements and ends of segments form one path of n + rows steps: segment r ends behind its last element, at step
/// offsets[r + 1] + r. The path is cut into equal chunks, so that each team has the same work, whatever the lengths. A
/// team finds its two cuts by a search in the offsets, adds its elements, writes the segments that end in its chunk,
/// and leaves the sum of the segment that is open at the end. The second launch adds these sums to the segments that
/// began in earlier chunks. Source: Merrill and Garland, Merge-based parallel sparse matrix-vector multiplication
/// (SC 2016), for the path; Blelloch, Prefix sums and their applications (1990), section 1.5, for sums with heads.
///
/// On a GPU a team goes through its chunk in tiles of elements, which its lanes load in packs of 16 bytes. The ends in
/// the tile become marks in scratch. A lane adds its pack up to each mark; ballots tell the lanes how far the sums of
/// their left neighbours count. On a host each thread has a chunk, and adds one segment after the other.
///
/// Traffic: elements and offsets are read once, sums are written once. In addition, two numbers per chunk.
///
/// Example, 2 chunks: 3 1 4 1 5 9 2, offsets 0 2 2 6 7 -> path 3 1 | end 0 | end 1 | 4 1 and 5 9 | end 2 | 2 | end 3;
/// chunk 0 writes 4 0 and leaves 5, chunk 1 writes 14 2; joined 4 0 19 2.
///
/// Use:  segmented_sum(exec, in, offsets, out);
/// or, enqueued many times:  SegmentedSum<Exec, float> sum(exec, n, rows);  sum(exec, in, offsets, out);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/collective/thread/piece_sum.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// How SegmentedSum shares the path.
template <ExecutionSpace Exec, class T>
struct SegmentedSumTuning {
  static constexpr bool tiles = is_gpu<Exec>;  ///< true: tiles of a team; false: each thread adds whole segments
  static constexpr int lanes = lane::natural_width<Exec>;
  static constexpr int pack = collective::pack_width<T>;  ///< elements of a pack: 16 bytes, the widest load
  static constexpr int rows = 8;  ///< packs in flight per lane: 128 bytes, as in the sums of rows
  /// Six teams of 128 lanes fit on a multiprocessor, with 80 registers per lane: with 64, nvcc 13 spills. While one
  /// team waits for offsets, the others load elements: on one H100, three teams of 256 lanes took 3% longer.
  static constexpr int most_lanes = 128;
  using Bounds = TeamBounds<Exec, most_lanes, 6>;
  /// The least chunk of a host's thread, in steps: it takes microseconds, more than its search.
  static constexpr std::size_t least_chunk = 4096;
  /// Returns the number of chunks. On a GPU about five waves of teams: few sums remain for the second launch. On a host
  /// more chunks than threads, because rows that begin in earlier chunks cost little.
  [[nodiscard]] static std::size_t chunks(Exec const& exec, int lanes_of_team) {
    return is_gpu<Exec> ? teams_that_fill(exec, lanes_of_team) : 16 * teams_at_once(exec, 1);
  }
};

namespace detail {

template <ExecutionSpace Exec, class T, class Tuning>
struct SegmentedSumKernels {
  struct ChunkTag {};
  struct JoinTag {};
  template <class Tag>
  using Policy = Kokkos::TeamPolicy<Exec, Tag, typename Tuning::Bounds>;
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using Sum = collective::Accumulator<T>;
  using Stored = collective::StoredSum<T>;
  using Add = collective::Sum<Sum>;
  using OpenSum = collective::Segmented<Sum>;  // `head`: a segment has ended before
  static constexpr int width = Lanes::width;
  static constexpr int pack = Tuning::pack;
  static constexpr int part = Tuning::rows * width * pack;  // elements of a tile per thread
  static constexpr int vector_length = lane::vector_length<Exec>(width);
  using Rows = thread::Rows<T, Tuning::rows, pack>;
  using Piece = thread::PieceSum<T, Lanes>;

  /// The mark of a segment's last element in a tile: 1 + the number of ends in the tile before its own. Others are 0.
  using Marks = collective::Pack<std::uint32_t, pack>;
  /// A place on the path: the ends and elements before it.
  struct Cut {
    std::int64_t row;
    std::int64_t item;
  };
  /// The first segment that ends in a thread's part: its sum is complete when earlier threads are known.
  struct FirstEnd {
    Sum sum;
    std::uint32_t mark;  // 0: none
  };

  using CutsView = ScratchView<Cut*, Exec>;
  using SumsView = ScratchView<OpenSum*, Exec>;
  using CountsView = ScratchView<int*, Exec>;
  using MarksView = ScratchView<Marks*, Exec>;

  T const* in;
  std::int64_t const* offsets;
  Stored* out;
  Sum* partial;            // per chunk: the sum of the segment that is open at its end
  std::int64_t* open_row;  // the number of this segment
  std::size_t rows;
  Chunks chunks;  // of the path

  [[nodiscard]] static std::size_t scratch_bytes(int threads) {
    return CutsView::shmem_size(2) + SumsView::shmem_size(threads) + CountsView::shmem_size(threads) +
           MarksView::shmem_size(static_cast<std::size_t>(threads) * part / pack);
  }

  // Adds the elements of a chunk.
  KOKKOS_FUNCTION void operator()(ChunkTag, Member const& team) const {
    if constexpr (Tuning::tiles) {
      add_tiles(team);
    } else {
      add_segments(team);
    }
  }

  // Adds what earlier chunks have of the first segment that ends in a chunk.
  KOKKOS_FUNCTION void operator()(JoinTag, Member const& team) const {
    Lanes const lanes;
    ScratchView<Sum*, Exec> const of_threads(team.team_scratch(0), team.team_size());
    int const chunk = team.league_rank() + 1;
    std::int64_t const row = open_row[chunk - 1];
    if (open_row[chunk] > row) {
      int first = 0;  // the first chunk at whose end the segment is open
      for (int end = chunk - 1; first < end;) {
        int const middle = (first + end) / 2;
        if (open_row[middle] < row) {
          first = middle + 1;
        } else {
          end = middle;
        }
      }
      Sum const own =
          thread::strided_sum(lanes, partial, first + team.team_rank() * width, chunk, team.team_size() * width);
      Sum const before = team::scan_threads(team, lanes, own, of_threads.data(), Add{}).total;
      Kokkos::single(Kokkos::PerTeam(team), [&] { out[row] = before + static_cast<Sum>(out[row]); });
    }
    leave_scratch(team);
  }

 private:
  [[nodiscard]] KOKKOS_FUNCTION static int count_of(std::uint64_t bits) {
    // Kokkos' constexpr popcount is a loop on GPUs, therefore its builtin is used.
    if constexpr (width <= 32) return Kokkos::Experimental::popcount_builtin(static_cast<std::uint32_t>(bits));
    return Kokkos::Experimental::popcount_builtin(bits);
  }
  [[nodiscard]] KOKKOS_FUNCTION static int highest(std::uint64_t bits) {
    return 63 - Kokkos::Experimental::countl_zero_builtin(bits);
  }

  // Returns the place `at` steps after the path's begin. The lanes try as many ends at a time.
  [[nodiscard]] KOKKOS_FUNCTION Cut cut(Lanes const& lanes, std::size_t at) const {
    auto const steps = static_cast<std::int64_t>(at);
    std::int64_t low = Kokkos::max<std::int64_t>(0, steps - static_cast<std::int64_t>(chunks.n - rows));
    std::int64_t high = Kokkos::min(steps, static_cast<std::int64_t>(rows));
    while (low < high) {
      std::int64_t const begin = low;
      std::int64_t const apart = (high - begin + width - 1) / width;
      auto is_before = lanes.template fill<bool>(false);
      lanes.each(
          [&](int lane, bool& is) {
            std::int64_t const row = begin + lane * apart;
            is = row < high && offsets[row + 1] + row < steps;
          },
          is_before);
      int const count = count_of(lanes.ballot(is_before));
      high = Kokkos::min(high, begin + count * apart);
      if (count > 0) low = begin + (count - 1) * apart + 1;
    }
    return {low, steps - low};
  }

  // Hosts: a thread adds the segments of its chunk one after the other.
  KOKKOS_FUNCTION void add_segments(Member const& team) const {
    Lanes const lanes;
    int const chunk = team.league_rank() * team.team_size() + team.team_rank();
    if (chunk >= chunks.count) return;
    Cut const first = cut(lanes, chunks.begin(chunk));
    Cut const last = cut(lanes, chunks.end(chunk));
    auto const sum = [&](T const* segment, std::size_t count) {
      if (count >= Piece::part) return Piece{lanes, 0, 1}(segment, count);
      Sum of_short = 0;  // a loop: PieceSum's search for alignment would take longer than the sum
      for (std::size_t i = 0; i < count; ++i) of_short += static_cast<Sum>(segment[i]);
      return of_short;
    };
    std::int64_t begin = first.item;
    for (std::int64_t row = first.row; row < last.row; ++row) {
      std::int64_t const end = offsets[row + 1];
      out[row] = sum(in + begin, static_cast<std::size_t>(end - begin));
      begin = end;
    }
    partial[chunk] = sum(in + begin, static_cast<std::size_t>(last.item - begin));
    open_row[chunk] = last.row;
  }

  KOKKOS_FUNCTION void add_tiles(Member const& team) const {
    Lanes const lanes;
    CutsView const cuts(team.team_scratch(0), 2);
    SumsView const of_threads(team.team_scratch(0), team.team_size());
    CountsView const ended(team.team_scratch(0), team.team_size());
    MarksView const marks(team.team_scratch(0), static_cast<std::size_t>(team.team_size()) * part / pack);
    Marks* const own_marks = marks.data() + team.team_rank() * part / pack;
    for (int side = team.team_rank(); side < 2; side += team.team_size()) {
      Cut const found = cut(lanes, side == 0 ? chunks.begin(team.league_rank()) : chunks.end(team.league_rank()));
      lanes.each([&](int lane) {
        if (lane == 0) cuts(side) = found;
      });
    }
    lanes.each([&](int lane) {
      for (int k = lane; k < part / pack; k += width) own_marks[k] = Marks{};
    });
    team.team_barrier();
    // From here on places are relative to the chunk's first element and end: 32 bits are enough, and take half the
    // registers.
    std::int64_t const item = cuts(0).item;
    std::int64_t const* const ends = offsets + cuts(0).row + 1;
    T const* const items_in = in + item;
    int const rows_to_end = static_cast<int>(cuts(1).row - cuts(0).row);
    int const items_to_add = static_cast<int>(cuts(1).item - item);

    int row = 0;    // the next segment to end
    Sum carry = 0;  // its elements in this chunk before the tile
    int const size = team.team_size() * part;
    // Tiles begin at multiples of 16 bytes; the first one may begin before the chunk.
    int tile = -static_cast<int>(reinterpret_cast<std::uintptr_t>(items_in) % (sizeof(T) * pack) / sizeof(T));
    auto items = lanes.template fill<Rows>({});
    auto const load_tile = [&](int first) {
      load(lanes, items_in, first + team.team_rank() * part, Kokkos::min(first + size, items_to_add), items);
    };
    load_tile(tile);
    do {
      // 1. Mark the last element of each segment that ends in the tile. A segment without elements here is 0.
      int const end = Kokkos::min(tile + size, items_to_add);
      Stored* const sums = out + cuts(0).row + row;  // of mark 1
      int own_ended = 0;
      for (int next = row + team.team_rank() * width;; next += team.team_size() * width) {
        auto has_ended = lanes.template fill<bool>(false);
        lanes.each(
            [&](int lane, bool& is) {
              int const at = next + lane;
              if (at >= rows_to_end) return;
              std::int64_t const end_of_row = ends[at] - item;
              is = end_of_row <= end;
              if (!is) return;
              if (Kokkos::max(ends[at - 1] - item, std::int64_t{0}) < end_of_row) {
                int const place = static_cast<int>(end_of_row) - 1 - tile;
                marks(place / pack)[place % pack] = static_cast<std::uint32_t>(at - row + 1);
              } else {
                sums[at - row] = Stored(0);
              }
            },
            has_ended);
        int const count = count_of(lanes.ballot(has_ended));
        own_ended += count;
        if (count < width) break;
      }
      lanes.each([&](int lane) {
        if (lane == 0) ended(team.team_rank()) = own_ended;
      });
      team.team_barrier();
      for (int thread = 0; thread < team.team_size(); ++thread) row += ended(thread);

      // 2. Add the elements between marks. Then load the next tile's: they arrive while marks are set.
      auto first_end = lanes.template fill<FirstEnd>({Sum(0), 0});
      OpenSum const open = add_part(lanes, items, own_marks, sums, first_end);
      load_tile(tile + size);

      // 3. Add what earlier threads and tiles have of a thread's first segment.
      auto const threads =
          team::scan_threads(team, lanes, open, of_threads.data(), collective::SegmentedOperator<Sum, Add>{});
      Sum const before = threads.before.head != 0 ? threads.before.value : carry + threads.before.value;
      lanes.each(
          [&](int, FirstEnd const& own) {
            if (own.mark != 0) sums[own.mark - 1] = before + own.sum;
          },
          first_end);
      carry = threads.total.head != 0 ? threads.total.value : carry + threads.total.value;
      tile += size;
    } while (tile < items_to_add);
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      partial[team.league_rank()] = carry;
      open_row[team.league_rank()] = cuts(1).row;
    });
    leave_scratch(team);
  }

  // Loads the part that begins at chunk[begin]. Elements outside chunk[0, end) become 0 and are not read.
  KOKKOS_FUNCTION void load(Lanes const& lanes, T const* chunk, int begin, int end,
                            typename Lanes::template Value<Rows>& items) const {
    lanes.each(
        [&](int lane, Rows& own) {
          // Places are compared, not a count clamped to [0, part] with `part`: ptxas 13.0 takes max(min(x, part), 0) ==
          // part from a flag of Hopper's VIMNMX. On an H100, parts that a chunk's end cut were then loaded whole.
          if (begin >= 0 && begin + part <= end) {
            auto const* const packs = reinterpret_cast<collective::Pack<T, pack> const*>(chunk + begin);
            for (int k = 0; k < Tuning::rows; ++k) own.at[k] = packs[k * width + lane];
          } else {
            thread::for_each_in_rows<width>(lane, own, [&](int i, T& x) {
              int const place = begin + i;
              x = place >= 0 && place < end ? chunk[place] : T(0);
            });
          }
        },
        items);
  }

  // Adds a thread's part. Writes the sums of the segments that end in it, except for the first one, which a lane keeps
  // in `first_end`. Returns the sum behind the last end, and clears the marks.
  [[nodiscard]] KOKKOS_FUNCTION OpenSum add_part(Lanes const& lanes, typename Lanes::template Value<Rows> const& items,
                                                 Marks* own_marks, Stored* sums,
                                                 typename Lanes::template Value<FirstEnd>& first_end) const {
    auto pending = lanes.template fill<Sum>(Sum(0));  // rows of packs without an end, not yet in `carry`
    bool is_pending = false;
    OpenSum open{Sum(0), 0};
    TESSERA_UNROLL
    for (int k = 0; k < Tuning::rows; ++k) {
      auto marks = lanes.template fill<Marks>({});
      auto has_end = lanes.template fill<bool>(false);
      auto tail = lanes.template fill<Sum>(Sum(0));  // behind the pack's last end
      lanes.each(
          [&](int lane, Marks& of_pack, bool& is, Sum& sum, Rows const& own) {
            of_pack = own_marks[k * width + lane];
            for (int e = 0; e < pack; ++e) {
              sum += static_cast<Sum>(own.at[k][e]);
              if (of_pack[e] != 0) {
                sum = 0;
                is = true;
              }
            }
            if (is) own_marks[k * width + lane] = Marks{};
          },
          marks, has_end, tail, items);
      std::uint64_t const bits = lanes.ballot(has_end);
      if (bits == 0) {
        lanes.each([](int, Sum& sum, Sum const& of_pack) { sum += of_pack; }, pending, tail);
        is_pending = true;
        continue;
      }
      if (is_pending) {
        open.value += thread::reduce<Sum>(lanes, pending, Add{});
        lanes.each([](int, Sum& sum) { sum = 0; }, pending);
        is_pending = false;
      }
      // Scan the tails; a lane's scan reaches back to the lane with the last end.
      for (int distance = 1; distance < width; distance *= 2) {
        auto const earlier = lanes.shift_up(tail, distance);
        lanes.each(
            [&](int lane, Sum& sum, Sum const& left) {
              std::uint64_t const upto = bits & (~std::uint64_t{0} >> (63 - lane));
              if (lane - distance >= (upto != 0 ? highest(upto) : 0)) sum += left;
            },
            tail, earlier);
      }
      auto const before = lanes.shift_up(tail, 1);
      lanes.each(
          [&](int lane, FirstEnd& kept, Sum const& left, Marks const& of_pack, Rows const& own) {
            std::uint64_t const earlier = bits & ((std::uint64_t{1} << lane) - 1);
            bool is_first = open.head == 0 && earlier == 0;
            Sum sum = (lane == 0 ? Sum(0) : left) + (earlier == 0 ? open.value : Sum(0));
            for (int e = 0; e < pack; ++e) {
              sum += static_cast<Sum>(own.at[k][e]);
              if (of_pack[e] == 0) continue;
              if (is_first) {
                kept = {sum, of_pack[e]};
                is_first = false;
              } else {
                sums[of_pack[e] - 1] = sum;
              }
              sum = 0;
            }
          },
          first_end, before, marks, items);
      open = {lanes.template read<Sum>(tail, width - 1), 1};
    }
    if (is_pending) open.value += thread::reduce<Sum>(lanes, pending, Add{});
    return open;
  }
};

}  // namespace detail

/// out[r] = sum of in[offsets[r]] to in[offsets[r + 1] - 1], for r of [0, rows). An empty segment is 0; integers wrap.
///
/// `offsets` [rows + 1] must begin with 0, never fall and end with n: they are not checked. Construct it once: chooses
/// chunks, and allocates two numbers per chunk. A call only enqueues; calls on one object must not run concurrently,
/// because they share this memory.
template <ExecutionSpace Exec, class T, class Tuning = SegmentedSumTuning<Exec, T>>
class SegmentedSum {
  using Kernels = detail::SegmentedSumKernels<Exec, T, Tuning>;
  using Sum = typename Kernels::Sum;

 public:
  /// \param n elements of `in`
  /// \param rows segments
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  SegmentedSum(Exec const& exec, std::size_t n, std::size_t rows, std::int64_t team = 0,
               std::string const& label = "tessera::segmented_sum")
      : label_(label),
        n_(n),
        rows_(rows),
        threads_(team_size(exec, team == 0 && is_gpu<Exec> ? Tuning::most_lanes / Kernels::vector_length : team,
                           Kernels::vector_length)),
        chunks_(split(n + rows,
                      Tuning::tiles ? static_cast<std::size_t>(threads_) * Kernels::part : Tuning::least_chunk,
                      // Places in a chunk have 32 bits.
                      std::max(Tuning::chunks(exec, threads_ * Kernels::vector_length),
                               tiles_of(n + rows, std::size_t{1} << 30)))),
        partial_(unset(label + "::partial"), chunks_.count),
        open_row_(unset(label + "::open_row"), chunks_.count) {
    if (is_gpu<Exec> && threads_ * Kernels::vector_length > Tuning::most_lanes) {
      throw Skip("a team of " + std::to_string(threads_) + " threads (it has at most " +
                 std::to_string(Tuning::most_lanes / Kernels::vector_length) + " here)");
    }
    if (Tuning::tiles) require_scratch<Exec>(Kernels::scratch_bytes(threads_));
  }

  /// Enqueues. `in` [n], `offsets` [rows + 1] and `out` [rows] must be contiguous; `out` must not overlap the others.
  /// Throws std::invalid_argument otherwise.
  template <Readable<Exec, T, 1> In, Readable<Exec, std::int64_t, 1> Offsets, Writable<Exec, T, 1> Out>
  void operator()(Exec const& exec, In const& in, Offsets const& offsets, Out const& out) const {
    require_apart(out, in, offsets);
    Kernels const kernels{contiguous(in, n_),
                          contiguous(offsets, rows_ + 1),
                          reinterpret_cast<collective::StoredSum<T>*>(contiguous(out, rows_)),
                          partial_.data(),
                          open_row_.data(),
                          rows_,
                          chunks_};
    if (rows_ == 0) return;
    int const teams = Tuning::tiles ? chunks_.count : (chunks_.count + threads_ - 1) / threads_;
    launch<typename Kernels::ChunkTag>("::sum", exec, teams, Tuning::tiles ? Kernels::scratch_bytes(threads_) : 0,
                                       kernels);
    if (chunks_.count == 1) return;
    launch<typename Kernels::JoinTag>("::join", exec, chunks_.count - 1, ScratchView<Sum*, Exec>::shmem_size(threads_),
                                      kernels);
  }

  [[nodiscard]] int chunks() const { return chunks_.count; }

  /// Returns the roundings of a sum on the longest path: within a chunk, and of the chunks' sums.
  [[nodiscard]] double rounding_steps() const {
    double const lanes = std::log2(Kernels::width);
    double const threads = std::ceil(static_cast<double>(threads_) / Kernels::width) + lanes + 1;
    double of_chunk =
        std::max<double>(Kernels::Piece::part, Kernels::Piece::rounding_steps(static_cast<double>(n_), 1));
    if (Tuning::tiles) {
      double const tiles =
          std::ceil(static_cast<double>(chunks_.size) / (static_cast<double>(threads_) * Kernels::part));
      of_chunk = Kernels::pack + 2 * Tuning::rows + 2 * lanes + threads + tiles + 2;
    }
    if (chunks_.count == 1) return of_chunk;
    return of_chunk + std::ceil(static_cast<double>(chunks_.count) / (threads_ * Kernels::width)) + lanes + threads + 1;
  }

 private:
  template <class Tag>
  void launch(char const* step, Exec const& exec, int teams, std::size_t scratch, Kernels const& kernels) const {
    typename Kernels::template Policy<Tag> policy(exec, teams, threads_, Kernels::vector_length);
    Kokkos::parallel_for(label_ + step, with_scratch(policy, scratch), kernels);
  }

  std::string label_;
  std::size_t n_;
  std::size_t rows_;
  int threads_;
  Chunks chunks_;  // of the path
  Kokkos::View<Sum*, typename Exec::memory_space> partial_;
  Kokkos::View<std::int64_t*, typename Exec::memory_space> open_row_;
};

/// out[r] = sum of in[offsets[r]] to in[offsets[r + 1] - 1]. `in` [n], `offsets` [rows + 1], `out` [rows]. Convenience
/// for a single call: allocates, enqueues and waits.
template <ExecutionSpace Exec, class In, class Offsets, class Out>
void segmented_sum(Exec const& exec, In const& in, Offsets const& offsets, Out const& out) {
  SegmentedSum<Exec, typename In::non_const_value_type> const kernel(exec, in.extent(0), out.extent(0));
  kernel(exec, in, offsets, out);
  exec.fence("tessera: segmented_sum");  // the kernel's memory is freed at the end of this call
}

}  // namespace tessera::kernels
