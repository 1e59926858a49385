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
/// On a GPU a team goes through its chunk in tiles of elements, which its lanes load in packs of 16 bytes and exchange
/// through scratch: each lane adds a run of neighbours, and begins again behind each end in it. A scan tells the lanes
/// what the open segment has before their runs. Then neighbouring lanes write the sums of neighbouring segments. Tiles
/// without an end are added without scratch. On a host each thread has a chunk, and adds one segment after the other.
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
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/collective/team/scratch_add.hpp>
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
  static constexpr int rows = 4;  ///< packs in flight per lane, a power of two. A lane adds at most 32 elements.
  /// Eight teams of 128 lanes fit on a multiprocessor, with 64 registers per lane: while one waits, the others load
  /// elements. Sums of 64 bits would spill.
  static constexpr int most_lanes = 128;
  using Bounds = TeamBounds<Exec, most_lanes, sizeof(T) < 8 ? 8 : 7>;
  /// The least chunk of a host's thread, in steps: it takes microseconds, more than its search.
  static constexpr std::size_t least_chunk = 4096;
  /// Returns the number of chunks. On a GPU four waves of teams, because chunks with many ends take longer. On a host
  /// more chunks than threads, because rows that begin in earlier chunks cost little.
  [[nodiscard]] static std::size_t chunks(Exec const& exec, int lanes_of_team) {
    return is_gpu<Exec> ? 2 * teams_at_once(exec, lanes_of_team) : 16 * teams_at_once(exec, 1);
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

  static constexpr int run = Tuning::rows * pack;  ///< neighbours that a lane adds
  static_assert(run <= 32 && (Tuning::rows & (Tuning::rows - 1)) == 0,
                "Tessera: a run has a bit per element, and a power of two of packs");
  using Packs = collective::Pack<Sum, pack>;

  /// A place on the path: the ends and elements before it.
  struct Cut {
    std::int64_t row;
    std::int64_t item;
  };
  static constexpr int most_lanes = Tuning::most_lanes;
  /// Scratch of a team. All extents are constants, so that one register holds its address; with six Views of lengths
  /// known at run time, nvcc 13 spilled.
  struct Exchange {
    Packs packs[most_lanes * Tuning::rows];  // the tile
    // A bit per element of a run: a segment ends behind it. Two tiles take turns, so that one can be cleared.
    std::uint32_t end_bits[2 * most_lanes];
    Sum before_runs[most_lanes];
    Cut cuts[2];
    OpenSum of_threads[most_lanes / width];
    int ended[most_lanes / width];
  };
  static_assert(alignof(Exchange) <= 16);
  using ExchangeView = ScratchView<Sixteen*, Exec>;
  static constexpr std::size_t exchange_size = sixteens(sizeof(Exchange));
  [[nodiscard]] static std::size_t scratch_bytes() {
    return Tuning::tiles ? ExchangeView::shmem_size(exchange_size) : 0;
  }
  /// A segment's elements [begin, end), counted from the first of the chunk.
  struct Segment {
    int begin;
    int end;
  };

  T const* in;
  std::int64_t const* offsets;
  Stored* out;
  Sum* partial;            // per chunk: the sum of the segment that is open at its end
  std::int64_t* open_row;  // the number of this segment
  std::size_t rows;
  Chunks chunks;  // of the path

  /// The steps of chunks are a multiple of this. A chunk's first tile begins at the multiple of 16 bytes before it: a
  /// chunk of whole tiles would have elements in one more.
  [[nodiscard]] static std::size_t chunk_unit(int threads) { return static_cast<std::size_t>(threads) * part - pack; }

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

  /// Returns the place in scratch of a pack of the tile. The packs of a run are together; their order differs from run
  /// to run, so that lanes access different banks, by rows of the tile and by packs of their runs.
  [[nodiscard]] KOKKOS_FUNCTION static int place_of(int pack_of_tile) {
    return pack_of_tile ^ (pack_of_tile / Tuning::rows % Tuning::rows);
  }

  KOKKOS_FUNCTION void add_tiles(Member const& team) const {
    Lanes const lanes;
    int const all_lanes = team.team_size() * width;
    int const own_lane = team.team_rank() * width;
    ExchangeView const scratch(team.team_scratch(0), exchange_size);
    Exchange& shared = *reinterpret_cast<Exchange*>(scratch.data());
    for (int side = team.team_rank(); side < 2; side += team.team_size()) {
      Cut const found = cut(lanes, side == 0 ? chunks.begin(team.league_rank()) : chunks.end(team.league_rank()));
      lanes.each([&](int lane) {
        if (lane == 0) shared.cuts[side] = found;
      });
    }
    lanes.each([&](int lane) {
      shared.end_bits[own_lane + lane] = 0;
      shared.end_bits[all_lanes + own_lane + lane] = 0;
    });
    team.team_barrier();
    // From here on places are relative to the chunk's first element and end: 32 bits are enough, and take half the
    // registers.
    std::int64_t const item = shared.cuts[0].item;
    std::int64_t const* const ends = offsets + shared.cuts[0].row + 1;
    Stored* const sums = out + shared.cuts[0].row;
    T const* const items_in = in + item;
    int const rows_to_end = static_cast<int>(shared.cuts[1].row - shared.cuts[0].row);
    int const items_to_add = static_cast<int>(shared.cuts[1].item - item);

    // Segments that end behind the chunk have no end here.
    auto const end_of = [&](int at) { return at < rows_to_end ? static_cast<int>(ends[at] - item) : INT_MAX; };
    auto const read_segments = [&](int first, typename Lanes::template Value<Segment>& own) {
      lanes.each(
          [&](int lane, Segment& segment) {
            int const at = first + lane;
            if (at < rows_to_end) segment.begin = static_cast<int>(Kokkos::max<std::int64_t>(ends[at - 1] - item, 0));
            segment.end = end_of(at);
          },
          own);
    };

    int row = 0;    // the next segment to end
    Sum carry = 0;  // its elements in this chunk before the tile
    // Read one tile ahead, so that nobody waits for memory: the end of segment `row`, and a segment for each lane.
    int next_end = end_of(0);
    auto ahead = lanes.template fill<Segment>({});
    read_segments(own_lane, ahead);
    int bits_of_tile = 0;
    int const size = all_lanes * run;
    // Tiles begin at multiples of 16 bytes; the first one may begin before the chunk.
    int tile = -static_cast<int>(reinterpret_cast<std::uintptr_t>(items_in) % (sizeof(T) * pack) / sizeof(T));
    auto items = lanes.template fill<Rows>({});
    auto const load_tile = [&](int first) {
      load(lanes, items_in, first + team.team_rank() * part, Kokkos::min(first + size, items_to_add), items);
    };
    auto const has_end = [&] { return next_end <= Kokkos::min(tile + size, items_to_add); };
    load_tile(tile);
    do {
      if (!has_end()) {
        Sum const own = add_whole_tiles(lanes, items, [&] {
          tile += size;
          load_tile(tile);
          return tile < items_to_add && !has_end();
        });
        carry += team::scan_threads(team, lanes, OpenSum{own, 0}, shared.of_threads,
                                    collective::SegmentedOperator<Sum, Add>{})
                     .total.value;
        continue;
      }
      // 1. Exchange the tile, load the next one, and mark the last element of each segment that ends in the tile.
      lanes.each(
          [&](int lane, Rows const& own) {
            for (int k = 0; k < Tuning::rows; ++k) {
              Packs moved;
              for (int e = 0; e < pack; ++e) moved[e] = static_cast<Sum>(own.at[k][e]);
              shared.packs[place_of(team.team_rank() * (part / pack) + k * width + lane)] = moved;
            }
          },
          items);
      load_tile(tile + size);
      int const end = Kokkos::min(tile + size, items_to_add);
      auto segments = ahead;
      int own_ended = 0;
      for (int next = row + own_lane;;) {
        auto has_ended = lanes.template fill<bool>(false);
        lanes.each(
            [&](int, bool& is, Segment const& own) {
              is = own.end <= end;
              if (!is || own.begin == own.end) return;
              int const place = own.end - 1 - tile;
              team::scratch_or(&shared.end_bits[bits_of_tile + place / run], std::uint32_t{1} << (place % run));
            },
            has_ended, segments);
        int const count = count_of(lanes.ballot(has_ended));
        own_ended += count;
        if (count < width) break;
        next += all_lanes;
        read_segments(next, segments);
      }
      lanes.each([&](int lane) {
        if (lane == 0) shared.ended[team.team_rank()] = own_ended;
      });
      team.team_barrier();
      int of_tile = 0;  // segments that end in the tile
      for (int thread = 0; thread < team.team_size(); ++thread) of_tile += shared.ended[thread];
      next_end = end_of(row + of_tile);
      segments = ahead;
      read_segments(row + of_tile + own_lane, ahead);

      // 2. Add the runs, and what is before them.
      int const bits_of_next = all_lanes - bits_of_tile;
      auto bits = lanes.template fill<std::uint32_t>(0);
      lanes.each(
          [&](int lane, std::uint32_t& own) {
            own = shared.end_bits[bits_of_tile + own_lane + lane];
            shared.end_bits[bits_of_next + own_lane + lane] = 0;
          },
          bits);
      auto before_lane = lanes.template fill<Sum>(Sum(0));
      std::uint64_t lanes_with_end = 0;
      OpenSum const open =
          add_runs(lanes, shared.packs + own_lane * Tuning::rows, own_lane, bits, before_lane, lanes_with_end);
      auto const threads =
          team::scan_threads(team, lanes, open, shared.of_threads, collective::SegmentedOperator<Sum, Add>{});
      Sum const before = threads.before.head != 0 ? threads.before.value : carry + threads.before.value;
      carry = threads.total.head != 0 ? threads.total.value : carry + threads.total.value;
      lanes.each(
          [&](int lane, Sum const& of_left) {
            bool const is_open = (lanes_with_end & ((std::uint64_t{1} << lane) - 1)) == 0;
            shared.before_runs[own_lane + lane] = is_open ? before + of_left : of_left;
          },
          before_lane);
      team.team_barrier();

      // 3. Write the sums of the segments that end in the tile. A segment without elements here is 0.
      for (int next = own_lane; next < of_tile; next += all_lanes) {
        if (next != own_lane) read_segments(row + next, segments);
        lanes.each(
            [&](int lane, Segment const& own) {
              if (next + lane >= of_tile) return;
              Sum sum = 0;
              if (own.begin != own.end) {
                int const place = own.end - 1 - tile;
                int const owner = place / run;
                sum = shared.packs[place_of(place / pack)][place % pack];
                std::uint32_t const earlier = (std::uint32_t{1} << (place % run)) - 1;
                if ((shared.end_bits[bits_of_tile + owner] & earlier) == 0) sum = shared.before_runs[owner] + sum;
              }
              sums[row + next + lane] = static_cast<Stored>(sum);
            },
            segments);
      }
      row += of_tile;
      tile += size;
      bits_of_tile = bits_of_next;
      team.team_barrier();
    } while (tile < items_to_add);
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      partial[team.league_rank()] = carry;
      open_row[team.league_rank()] = shared.cuts[1].row;
    });
    leave_scratch(team);
  }

  /// Adds tiles without an end, as long as `next_tile` returns true. Returns the sum of the thread's parts.
  template <class Next>
  [[nodiscard]] KOKKOS_FUNCTION Sum add_whole_tiles(Lanes const& lanes,
                                                    typename Lanes::template Value<Rows> const& items,
                                                    Next const& next_tile) const {
    auto sums = lanes.template fill<Sum>(Sum(0));
    do {
      lanes.each(
          [&](int, Sum& sum, Rows const& own) {
            Sum of_tile = 0;
            for (int k = 0; k < Tuning::rows; ++k) {
              Sum of_pack = 0;
              for (int e = 0; e < pack; ++e) of_pack += static_cast<Sum>(own.at[k][e]);
              of_tile += of_pack;
            }
            sum += of_tile;
          },
          sums, items);
    } while (next_tile());
    return thread::reduce<Sum>(lanes, sums, Add{});
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

  // Adds the runs of a thread's lanes: an element becomes the sum of its segment in the run up to it. Returns the sum
  // behind the thread's last end, and for each lane what the thread has of the open segment before the lane's run.
  [[nodiscard]] KOKKOS_FUNCTION OpenSum add_runs(Lanes const& lanes, Packs* own_packs, int own_lane,
                                                 typename Lanes::template Value<std::uint32_t> const& bits,
                                                 typename Lanes::template Value<Sum>& before_lane,
                                                 std::uint64_t& lanes_with_end) const {
    auto has_end = lanes.template fill<bool>(false);
    auto open = lanes.template fill<Sum>(Sum(0));  // behind the last end of the run
    lanes.each(
        [&](int lane, Sum& sum, bool& is, std::uint32_t ends) {
          TESSERA_UNROLL
          for (int k = 0; k < Tuning::rows; ++k) {
            Packs& of_run = own_packs[lane * Tuning::rows + (k ^ ((own_lane + lane) % Tuning::rows))];
            Packs added = of_run;
            for (int e = 0; e < pack; ++e) {
              added[e] = sum + added[e];
              sum = ((ends >> (k * pack + e)) & 1U) != 0 ? Sum(0) : added[e];
            }
            if (ends != 0) of_run = added;
          }
          is = ends != 0;
        },
        open, has_end, bits);
    // Scan what is open; a lane's scan reaches back to the lane with the last end.
    lanes_with_end = lanes.ballot(has_end);
    for (int distance = 1; distance < width; distance *= 2) {
      auto const earlier = lanes.shift_up(open, distance);
      lanes.each(
          [&](int lane, Sum& sum, Sum const& left) {
            std::uint64_t const upto = lanes_with_end & (~std::uint64_t{0} >> (63 - lane));
            if (lane - distance >= (upto != 0 ? highest(upto) : 0)) sum = left + sum;
          },
          open, earlier);
    }
    auto const left = lanes.shift_up(open, 1);
    lanes.each([&](int lane, Sum& before, Sum const& of_left) { before = lane == 0 ? Sum(0) : of_left; }, before_lane,
               left);
    return {lanes.template read<Sum>(open, width - 1), lanes_with_end != 0 ? 1 : 0};
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
        chunks_(split(n + rows, Tuning::tiles ? Kernels::chunk_unit(threads_) : Tuning::least_chunk,
                      // Places in a chunk have 32 bits.
                      std::max(Tuning::chunks(exec, threads_ * Kernels::vector_length),
                               tiles_of(n + rows, std::size_t{1} << 30)))),
        partial_(unset(label + "::partial"), chunks_.count),
        open_row_(unset(label + "::open_row"), chunks_.count) {
    if (Tuning::tiles && threads_ * Kernels::width > Kernels::most_lanes) {
      throw Skip("a team of " + std::to_string(threads_) + " threads (it has at most " +
                 std::to_string(Kernels::most_lanes / Kernels::width) + " here)");
    }
    require_scratch<Exec>(Kernels::scratch_bytes());
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
    launch<typename Kernels::ChunkTag>("::sum", exec, teams, Kernels::scratch_bytes(), kernels);
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
      of_chunk = Kernels::run + Kernels::pack + 2 * lanes + threads + tiles + 4;
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
