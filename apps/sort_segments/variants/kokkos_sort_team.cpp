/// \file
/// Kokkos' sort of a team: one team per segment. It is a bitonic network in memory, and moves keys past equal ones, so
/// that it has no place for values.

#include "../problem.hpp"

#include <cstddef>

#include <Kokkos_NestedSort.hpp>

#include <tessera/core/tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::sort_segments {

template <class T>
struct KeyBefore {
  collective::KeyOrder<T> order;
  KOKKOS_FUNCTION bool operator()(T a, T b) const { return order.before(a, b); }
};

struct KokkosSortTeam {
  static constexpr VariantInfo info{.name = "kokkos_sort_team",
                                    .level = Level::library,
                                    .summary = "Kokkos::Experimental::sort_team, one team per segment; keys only"};

  template <ExecutionSpace Exec, class T>
  struct Plan {
    using Policy = Kokkos::TeamPolicy<Exec>;
    int teams;

    Plan(Exec const&, InputOn<SortSegments, Exec, T> const& input) : teams(league_of(input.offsets.extent(0) - 1)) {
      if (input.values.extent(0) > 0) throw Skip("keys with values (it is not stable)");
      if (input.parameters.team > 0) throw Skip("--team (Kokkos chooses the team)");
    }

    void operator()(Exec const& exec, InputOn<SortSegments, Exec, T> const& in,
                    OutputOn<SortSegments, Exec, T> const& out) const {
      KeyBefore<T> const before{collective::KeyOrder<T>(in.parameters.descending)};
      auto const sorted = out.keys;
      Kokkos::parallel_for(
          "tessera::sort_segments::kokkos_sort_team::sort", Policy(exec, teams, Kokkos::AUTO),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            auto const begin = static_cast<std::size_t>(in.offsets(team.league_rank()));
            auto const end = static_cast<std::size_t>(in.offsets(team.league_rank() + 1));
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end),
                                 [&](std::size_t i) { sorted(i) = in.keys(i); });
            team.team_barrier();
            Kokkos::Experimental::sort_team(team, Kokkos::subview(sorted, Kokkos::make_pair(begin, end)), before);
          });
    }
  };
};

VariantRows kokkos_sort_team() { return rows<SortSegments, KokkosSortTeam>(); }

}  // namespace tessera::sort_segments
