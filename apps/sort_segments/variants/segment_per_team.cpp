/// \file
/// A team sorts one segment, by merges of runs of 1, 2, 4, ... keys. In the merged run, a key is at its place in its
/// own run plus the number of keys of the other run that come before it. A binary search counts these. If
/// keys are equal, the key of the first run comes first: the sort is stable. A short segment leaves most threads idle.

#include "../pairs.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::sort_segments {

struct SegmentPerTeam {
  static constexpr VariantInfo info{.name = "segment_per_team",
                                    .level = Level::team,
                                    .summary = "one team per segment: each key searches its place in each merge",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  struct Plan {
    using Policy = Kokkos::TeamPolicy<Exec>;
    int threads;
    Pairs<Exec, T> spare;

    Plan(Exec const& exec, InputOn<SortSegments, Exec, T> const& input)
        : threads(kernels::team_size(exec, input.parameters.team)), spare(spare_pairs<Exec, T>(input)) {}

    void operator()(Exec const& exec, InputOn<SortSegments, Exec, T> const& in,
                    OutputOn<SortSegments, Exec, T> const& out) const {
      collective::KeyOrder<T> const order(in.parameters.descending);
      Pairs<Exec, T> const result{out.keys, out.values};
      auto const other = spare;
      Kokkos::parallel_for(
          "tessera::sort_segments::segment_per_team::sort", Policy(exec, league_of(in.offsets.extent(0) - 1), threads),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            auto const begin = static_cast<std::size_t>(in.offsets(team.league_rank()));
            auto const end = static_cast<std::size_t>(in.offsets(team.league_rank() + 1));
            auto const each = Kokkos::TeamThreadRange(team, begin, end);
            Pairs<Exec, T> from = result, to = other;
            for (std::size_t run = 1; run < end - begin; run *= 2) Kokkos::kokkos_swap(from, to);
            Kokkos::parallel_for(each, [&](std::size_t i) { from.take(i, in, i); });
            for (std::size_t run = 1; run < end - begin; run *= 2) {  // the last pass writes the result
              team.team_barrier();
              Kokkos::parallel_for(each, [&](std::size_t i) {
                std::size_t const pair = begin + (i - begin) / (2 * run) * (2 * run);
                std::size_t const middle = Kokkos::min(pair + run, end);
                bool const in_first = i < middle;
                std::size_t least = in_first ? middle : pair;
                for (std::size_t most = in_first ? Kokkos::min(middle + run, end) : middle; least < most;) {
                  std::size_t const half = (least + most) / 2;
                  bool const before = in_first ? order.before(from.keys(half), from.keys(i))
                                               : !order.before(from.keys(i), from.keys(half));
                  (before ? least : most) = before ? half + 1 : half;
                }
                to.take(least + i - middle, from, i);
              });
              Kokkos::kokkos_swap(from, to);
            }
          });
    }
  };
};

VariantRows segment_per_team() { return rows<SortSegments, SegmentPerTeam>(); }

}  // namespace tessera::sort_segments
