/// \file
/// A team takes a segment, with Kokkos' own patterns: a team reduction counts the left elements, a team scan counts the
/// left elements before each element, and with `final` each element goes to its place. Kokkos calls the scan's body
/// twice per element: first for the threads' totals, then for the results. No scratch and no barriers are needed: all
/// threads have the reduction's result, and no thread reads what another wrote.

#include <algorithm>
#include <string>

#include "../predicate.hpp"
#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

struct TeamScan {
  static constexpr VariantInfo info{.name = "team_scan",
                                    .level = Level::team,
                                    .summary = "one segment per team: Kokkos::parallel_reduce, then parallel_scan",
                                    .lesson = true};
  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    static constexpr std::size_t longest = 65536;  // elements; one team is slow for more

    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input)
        : length_(input.in.extent(0)),
          threads_(kernels::team_size(exec, input.parameters.team)),
          league_(league_of(input.parameters.segments(input.in.extent(0)))) {
      require_two_sides(input.parameters);
      require_kept_order(input.parameters);
      if (input.parameters.segment != 0) length_ = std::min(length_, input.parameters.segment);
      if (length_ > longest) {
        throw Skip("segments of " + std::to_string(length_) + " (one team takes " + std::to_string(longest) + ")");
      }
    }

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& values,
                    ArrayOn<std::int64_t*, Exec> const& left_count, Parameters const& parameters) const {
      LessThanPivot<T> const is_left(parameters.pivot);
      auto const length = length_;
      Kokkos::parallel_for(
          "tessera::partition::team_scan::segments", Policy(exec, league_, threads_),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            auto const segment = static_cast<std::size_t>(team.league_rank());
            std::size_t const begin = segment * length;
            int const count = static_cast<int>(Kokkos::min(length, in.extent(0) - begin));
            int lefts = 0;
            Kokkos::parallel_reduce(
                Kokkos::TeamThreadRange(team, count), [&](int i, int& sum) { sum += is_left(in(begin + i)) ? 1 : 0; },
                lefts);
            Kokkos::parallel_scan(Kokkos::TeamThreadRange(team, count), [&](int i, int& before, bool final) {
              T const value = in(begin + i);
              bool const goes_left = is_left(value);
              if (final) values(begin + (goes_left ? before : lefts + i - before)) = value;
              before += goes_left ? 1 : 0;
            });
            Kokkos::single(Kokkos::PerTeam(team), [&] { left_count(segment) = lefts; });
          });
    }

   private:
    std::size_t length_;  // elements per segment
    int threads_;
    int league_;
  };
};

VariantRows team_scan() { return rows<Partition, TeamScan>(); }

}  // namespace tessera::partition
