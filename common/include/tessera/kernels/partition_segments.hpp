#pragma once
/// \file
/// The stable partition of each segment of an array, for segments that fit into the lanes of one thread. A vote tells
/// each lane which lanes have left elements, and the lane computes the destination of its own element from bit counts
/// of the vote. One launch, 2n traffic, no scratch, no barriers.
///
/// A row has one element per lane of a thread (W lanes). It holds as many whole segments as fit; a segment of more than
/// W elements takes several rows.
///
/// Example, left is < 5, segments of 4: 3 7 1 8 | 9 2 -> 3 1 7 8 | 2 9, counts 2 1.
///
/// Use:  partition_segments(exec, in, out, counts, 100, IsNegative{});
/// or, enqueued many times:
///   SegmentPartition<Exec, float, IsNegative> split(exec, n, 100);  split(exec, in, out, counts);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/detail/partition/partition_tile.hpp>

namespace tessera::kernels {

namespace detail {

template <ExecutionSpace Exec, class T, class Predicate, class Tuning>
struct SegmentPartitionKernel {
  using Policy = Kokkos::TeamPolicy<Exec, AnyTeamBounds<Exec>>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  static constexpr int rows = Tuning::longest_segment / Lanes::width;
  struct Held {
    T at[rows];
  };
  // A lane's place in a row of whole segments.
  struct Place {
    int segment;                 // its number in the row; remaining lanes have a number beyond the last
    int position;                // in the segment
    std::uint64_t segment_bits;  // the lanes of its segment
  };

  Predicate is_left;
  T const* in;
  T* values;
  std::int64_t* left_count;
  std::size_t n;
  std::size_t segments;
  int length;   // elements per segment
  int per_row;  // segments in a row of lanes; 0: a segment takes several rows

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    std::size_t const thread = static_cast<std::size_t>(team.league_rank()) * team.team_size() + team.team_rank();
    for (int group = 0; group < Tuning::segment_groups; ++group) {
      std::size_t const number = thread * Tuning::segment_groups + group;
      if (per_row > 0) {
        short_segments(number * rows * per_row);
      } else if (number < segments) {
        long_segment(number);
      }
    }
  }

  // Partitions segments, starting at `first`, several per row.
  KOKKOS_FUNCTION void short_segments(std::size_t first) const {
    Lanes const lanes;
    int const used = per_row * length;
    std::size_t const begin = Kokkos::min(first * static_cast<std::size_t>(length), n);
    int const count = static_cast<int>(Kokkos::min(n - begin, static_cast<std::size_t>(rows * used)));
    auto places = lanes.template fill<Place>({});
    auto held = lanes.template fill<Held>({});
    lanes.each(
        [&](int lane, Place& place, Held& own) {
          place.segment = lane / length;
          place.position = lane - place.segment * length;
          place.segment_bits = bits_below(length) << (place.segment < per_row ? place.segment * length : 0);
          for (int row = 0; row < rows; ++row) {
            if (lane < used && row * used + lane < count) own.at[row] = in[begin + row * used + lane];
          }
        },
        places, held);
    for (int row = 0; row < rows; ++row) {
      auto votes = lanes.template fill<bool>(false);
      // Votes of lanes beyond the last segment are not counted.
      lanes.each(
          [&](int lane, Held const& own, bool& vote) { vote = row * used + lane < count && is_left(own.at[row]); },
          held, votes);
      std::uint64_t const lefts = lanes.ballot(votes);
      lanes.each(
          [&](int lane, Place const& place, Held const& own, bool const& vote) {
            if (lane >= used) return;
            std::uint64_t const of_segment = lefts & place.segment_bits;
            int const total = bits_in(of_segment);
            std::size_t const segment = first + row * per_row + place.segment;
            if (place.position == 0 && segment < segments) left_count[segment] = total;
            int const i = row * used + lane;
            if (i >= count) return;
            int const before = bits_in(of_segment & bits_below(lane));
            int const behind = total + place.position - before;
            values[begin + (i - place.position) + either(vote ? 1 : 0, before, behind)] = own.at[row];
          },
          places, held, votes);
    }
  }

  // Partitions one segment that takes several rows.
  KOKKOS_FUNCTION void long_segment(std::size_t number) const {
    Lanes const lanes;
    std::size_t const begin = number * static_cast<std::size_t>(length);
    int const count = static_cast<int>(Kokkos::min(n - begin, static_cast<std::size_t>(length)));
    // On a GPU rows are in registers, which only constants can index: the loop visits all rows, used or not.
    int const used = (count + Lanes::width - 1) / Lanes::width;
    int const visited = Tuning::warps ? rows : used;
    auto held = lanes.template fill<Held>({});
    lanes.each(
        [&](int lane, Held& own) {
          for (int row = 0; row < visited; ++row) {
            if (row * Lanes::width + lane < count) own.at[row] = in[begin + row * Lanes::width + lane];
          }
        },
        held);
    int total = 0;
    for (int row = 0; row < visited; ++row) {
      if (row < used) total += bits_in(votes_of(held, row, count));
    }
    int before_row = 0;
    for (int row = 0; row < visited; ++row) {
      if (row >= used) continue;
      std::uint64_t const lefts = votes_of(held, row, count);
      lanes.each(
          [&](int lane, Held const& own) {
            int const i = row * Lanes::width + lane;
            if (i >= count) return;
            int const before = before_row + bits_in(lefts & bits_below(lane));
            int const goes_left = static_cast<int>((lefts >> lane) & 1);
            values[begin + either(goes_left, before, total + i - before)] = own.at[row];
          },
          held);
      before_row += bits_in(lefts);
    }
    lanes.each([&](int lane) {
      if (lane == 0) left_count[number] = total;
    });
  }

  [[nodiscard]] KOKKOS_FUNCTION std::uint64_t votes_of(typename Lanes::template Value<Held> const& held, int row,
                                                       int count) const {
    Lanes const lanes;
    auto votes = lanes.template fill<bool>(false);
    lanes.each([&](int lane, Held const& own,
                   bool& vote) { vote = row * Lanes::width + lane < count && is_left(own.at[row]); },
               held, votes);
    return lanes.ballot(votes);
  }

  [[nodiscard]] KOKKOS_FUNCTION static int bits_in(std::uint64_t bits) {
    // Kokkos' constexpr popcount is a loop on GPUs, therefore its builtin is used. A warp's votes fit into 32 bits.
    if constexpr (Lanes::width <= 32) return Kokkos::Experimental::popcount_builtin(static_cast<std::uint32_t>(bits));
    return Kokkos::Experimental::popcount_builtin(bits);
  }
  [[nodiscard]] KOKKOS_FUNCTION static std::uint64_t bits_below(int lane) {
    return lane >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << lane) - 1;
  }
};

}  // namespace detail

/// The partition of each segment. `in` and `out` [n] must be contiguous and must not overlap; `counts` [segments] of
/// std::int64_t: the number of left elements per segment.
///
/// Predicate: `bool operator()(T) const` in device code. Construct it once; it allocates nothing. A call only enqueues;
/// calls may run concurrently.
template <ExecutionSpace Exec, class T, class Predicate, class Tuning = PartitionTuning<Exec, T>>
class SegmentPartition {
  using Kernel = detail::SegmentPartitionKernel<Exec, T, Predicate, Tuning>;
  static constexpr int width = Kernel::Lanes::width;
  static constexpr int vector_length = lane::vector_length<Exec>(width);

 public:
  /// \param n elements of each array
  /// \param segment elements per segment, of which the last may be shorter; 0: the whole array is one segment. Throws
  ///        Skip if a segment does not fit into the lanes.
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  explicit SegmentPartition(Exec const& exec, std::size_t n, std::size_t segment, Predicate const& is_left = {},
                            std::int64_t team = 0, std::string const& label = "tessera::segment_partition")
      : label_(label + "::scan"),
        is_left_(is_left),
        n_(n),
        segments_(segment == 0 ? 1 : tiles_of(n, segment)),
        length_(length(segment == 0 || segment > n ? std::max<std::size_t>(1, n) : segment)),
        per_row_(length_ <= width ? width / length_ : 0),
        threads_(team_size(exec, team, vector_length)),
        league_(league_of(tiles_of(segments_, threads_ * held()))) {}

  /// Enqueues. Throws std::invalid_argument if a View is strided or has another length.
  template <Readable<Exec, T, 1> In, Writable<Exec, T, 1> Out, Writable<Exec, std::int64_t, 1> Counts>
  void operator()(Exec const& exec, In const& in, Out const& out, Counts const& counts) const {
    require_apart(out, in);
    Kokkos::parallel_for(label_, typename Kernel::Policy(exec, league_, threads_, vector_length),
                         Kernel{is_left_, contiguous(in, n_), contiguous(out, n_), contiguous(counts, segments_), n_,
                                segments_, length_, per_row_});
  }

  [[nodiscard]] std::string note() const { return std::to_string(width) + " lanes"; }

 private:
  [[nodiscard]] static int length(std::size_t segment) {
    if (segment > Tuning::longest_segment) {
      throw Skip("segments of " + std::to_string(segment) + " (the lanes of a thread hold " +
                 std::to_string(Tuning::longest_segment) + " here)");
    }
    return static_cast<int>(segment);
  }
  // Returns the number of segments per thread.
  [[nodiscard]] std::size_t held() const {
    return static_cast<std::size_t>(Tuning::segment_groups) * (per_row_ > 0 ? Kernel::rows * per_row_ : 1);
  }

  std::string label_;
  Predicate is_left_;
  std::size_t n_;
  std::size_t segments_;
  int length_;
  int per_row_;
  int threads_;
  int league_;
};

/// The partition of each segment (see SegmentPartition) of `segment` elements, from `in` [n] to `out` [n]; `counts`
/// [segments]. Convenience for a single call: enqueues and waits. Throws Skip if the segments do not fit into the lanes
/// of a thread.
template <ExecutionSpace Exec, class In, class Out, class Counts, class Predicate>
void partition_segments(Exec const& exec, In const& in, Out const& out, Counts const& counts, std::size_t segment,
                        Predicate const& is_left) {
  SegmentPartition<Exec, typename In::non_const_value_type, Predicate> const split(exec, in.extent(0), segment,
                                                                                   is_left);
  split(exec, in, out, counts);
  exec.fence("tessera: partition_segments");
}

}  // namespace tessera::kernels
