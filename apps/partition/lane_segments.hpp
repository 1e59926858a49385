#pragma once
/// \file
/// Segments in the lanes of one thread: each lane's vote tells all others where left elements stand, and counting bits
/// of the votes tells each where its own goes. No scratch, no barriers.
///
/// Segments of at most W elements, W the lanes of a thread, stand several in a row of lanes; longer ones take several
/// rows.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "predicate.hpp"
#include "problem.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/thread/split_rows.hpp>
#include <tessera/kernels/team_shape.hpp>

namespace tessera::partition {

/// Elements of the longest segment: what a thread's lanes hold in rows.
inline constexpr int longest_lane_segment = 512;

/// `as_gpu` is there for tests, which run a GPU's lanes on hosts.
template <ExecutionSpace Exec, class T, bool as_gpu>
struct LaneSegmentsKernel {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Lanes = lane::On<Exec, as_gpu ? 32 : lane::natural_width<Exec>>;
  static constexpr int rows = longest_lane_segment / Lanes::width;
  struct Held {
    T at[rows];
  };
  // Where a lane stands in a row of whole segments.
  struct Place {
    int segment;                 // of the row; beyond the last for lanes that are left over
    int position;                // in the segment
    std::uint64_t segment_bits;  // the lanes of its segment
  };

  LessThanPivot<T> is_left;
  T const* in;
  T* values;
  std::int64_t* left_count;
  std::size_t n;
  std::size_t segments;
  int length;   // of a segment
  int per_row;  // segments in a row of lanes; 0: a segment takes several rows
  int groups;   // groups of rows that a thread takes, one after the other

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    std::size_t const thread = static_cast<std::size_t>(team.league_rank()) * team.team_size() + team.team_rank();
    for (int group = 0; group < groups; ++group) {
      std::size_t const number = thread * groups + group;
      if (per_row > 0) {
        short_segments(number * rows * per_row);
      } else if (number < segments) {
        long_segment(number);
      }
    }
  }

  // Segments from `first` on, several in each row.
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
      // What lanes beyond the last segment vote, nobody counts.
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
            values[begin + (i - place.position) + thread::either(vote ? 1 : 0, before, behind)] = own.at[row];
          },
          places, held, votes);
    }
  }

  // One segment in several rows.
  KOKKOS_FUNCTION void long_segment(std::size_t number) const {
    Lanes const lanes;
    std::size_t const begin = number * static_cast<std::size_t>(length);
    int const count = static_cast<int>(Kokkos::min(n - begin, static_cast<std::size_t>(length)));
    // A GPU's rows lie in registers, whose numbers are known to the compiler alone: it goes through all of them.
    int const used = (count + Lanes::width - 1) / Lanes::width;
    int const visited = as_gpu ? rows : used;
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
            values[begin + thread::either(goes_left, before, total + i - before)] = own.at[row];
          },
          held);
      before_row += bits_in(lefts);
    }
    auto counted = lanes.template fill<int>(total);
    lanes.each(
        [&](int lane, int const& of_segment) {
          if (lane == 0) left_count[number] = of_segment;
        },
        counted);
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
    // Kokkos' popcount, which may be a constant expression, is a loop on GPUs. A warp's votes fit into half of them.
    if constexpr (Lanes::width <= 32) return Kokkos::Experimental::popcount_builtin(static_cast<std::uint32_t>(bits));
    return Kokkos::Experimental::popcount_builtin(bits);
  }
  [[nodiscard]] KOKKOS_FUNCTION static std::uint64_t bits_below(int lane) {
    return lane >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << lane) - 1;
  }
};

/// Enqueues the launch. Throws Skip where a segment is longer than lanes hold.
template <ExecutionSpace Exec, class T, bool as_gpu = is_gpu<Exec>>
class LaneSegments {
 public:
  using Kernel = LaneSegmentsKernel<Exec, T, as_gpu>;

  LaneSegments(Exec const& exec, std::size_t n, Partition::Parameters const& parameters)
      : n_(n), segments_(parameters.segments(n)), length_(length(n, parameters)) {
    per_row_ = length_ <= width ? width / length_ : 0;
    threads_ = kernels::team_size(exec, parameters.team, vector_length);
    std::size_t const of_thread = static_cast<std::size_t>(groups) * (per_row_ > 0 ? Kernel::rows * per_row_ : 1);
    league_ = league_of(tiles_of(segments_, threads_ * of_thread));
  }

  void operator()(Exec const& exec, LessThanPivot<T> const& is_left, T const* in, T* values,
                  std::int64_t* left_count) const {
    Kokkos::parallel_for("tessera::partition::lane_scan::scan",
                         Kokkos::TeamPolicy<Exec>(exec, league_, threads_, vector_length),
                         Kernel{is_left, in, values, left_count, n_, segments_, length_, per_row_, groups});
  }

  [[nodiscard]] std::string note() const { return std::to_string(width) + " lanes"; }

 private:
  static constexpr int width = Kernel::Lanes::width;
  static constexpr int vector_length = lane::vector_length<Exec>(width);
  static constexpr int groups = as_gpu ? 1 : 16;  // a team costs a host more than a few segments do

  [[nodiscard]] static int length(std::size_t n, Partition::Parameters const& parameters) {
    std::size_t const segment = parameters.segment;
    std::size_t const longest = segment == 0 || segment > n ? std::max<std::size_t>(1, n) : segment;
    if (longest > longest_lane_segment) {
      throw Skip("segments of " + std::to_string(longest) + " (the lanes of a thread hold " +
                 std::to_string(longest_lane_segment) + " here)");
    }
    return static_cast<int>(longest);
  }

  std::size_t n_;
  std::size_t segments_;
  int length_;
  int per_row_ = 0;
  int threads_ = 1;
  int league_ = 0;
};

}  // namespace tessera::partition
