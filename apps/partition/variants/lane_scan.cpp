/// \file
/// The lanes of one thread take a segment, W elements at a time: a butterfly sum tells all lanes how many elements of
/// the segment go left, and a scan over the lanes gives the number of left elements before each element. No scratch, no
/// barriers.

#include <algorithm>
#include <string>

#include "../predicate.hpp"
#include "../problem.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/collective/thread/scan.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

struct LaneScan {
  static constexpr VariantInfo info{.name = "lane_scan",
                                    .level = Level::lane,
                                    .summary = "segments in the lanes of a thread, placed by a scan of flags"};
  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    using Lanes = lane::On<Exec, lane::natural_width<Exec>>;
    static constexpr int width = Lanes::width;
    static constexpr std::size_t longest = 512;  // elements; one thread is slow for more

    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input)
        : length_(input.in.extent(0)),
          threads_(kernels::team_size(exec, input.parameters.team, lane::vector_length<Exec>(width))) {
      require_two_sides(input.parameters);
      require_kept_order(input.parameters);
      if (input.parameters.segment != 0) length_ = std::min(length_, input.parameters.segment);
      if (length_ > longest) {
        throw Skip("segments of " + std::to_string(length_) + " (one thread takes " + std::to_string(longest) + ")");
      }
      league_ = league_of(tiles_of(input.parameters.segments(input.in.extent(0)), threads_));
    }

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& values,
                    ArrayOn<std::int64_t*, Exec> const& left_count, Parameters const& parameters) const {
      LessThanPivot<T> const is_left(parameters.pivot);
      auto const length = length_;
      Kokkos::parallel_for(
          "tessera::partition::lane_scan::segments", Policy(exec, league_, threads_, lane::vector_length<Exec>(width)),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            Lanes const lanes;
            collective::Sum<int> const add;
            std::size_t const segment =
                static_cast<std::size_t>(team.league_rank()) * team.team_size() + team.team_rank();
            if (segment >= left_count.extent(0)) return;
            std::size_t const begin = segment * length;
            int const count = static_cast<int>(Kokkos::min(length, in.extent(0) - begin));
            // Returns 1 in each lane whose element goes left, for the W elements from `first` on.
            auto const flags_from = [&](int first) {
              auto flags = lanes.template fill<int>(0);
              lanes.each(
                  [&](int lane, int& flag) {
                    if (first + lane < count && is_left(in(begin + first + lane))) flag = 1;
                  },
                  flags);
              return flags;
            };
            int lefts = 0;
            for (int first = 0; first < count; first += width) {
              lefts += thread::reduce<int>(lanes, flags_from(first), add);
            }
            int before_row = 0;
            for (int first = 0; first < count; first += width) {
              auto const flags = flags_from(first);
              auto through = flags;
              thread::inclusive_scan(lanes, through, add);
              lanes.each(
                  [&](int lane, int const& flag, int const& of_row) {
                    int const i = first + lane;
                    int const before = before_row + of_row - flag;
                    if (i < count) values(begin + (flag == 1 ? before : lefts + i - before)) = in(begin + i);
                  },
                  flags, through);
              before_row += lanes.template read<int>(through, width - 1);
            }
            auto counted = lanes.template fill<int>(lefts);
            lanes.each(
                [&](int lane, int const& of_segment) {
                  if (lane == 0) left_count(segment) = of_segment;
                },
                counted);
          });
    }
    [[nodiscard]] std::string note() const { return std::to_string(width) + " lanes"; }

   private:
    std::size_t length_;  // elements per segment
    int threads_;
    int league_ = 0;
  };
};

VariantRows lane_scan() { return rows<Partition, LaneScan>(); }

}  // namespace tessera::partition
