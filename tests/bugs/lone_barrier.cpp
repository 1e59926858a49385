// Each thread adds its right neighbour's element, which it reads from scratch. The last thread of a team has none.

#include "bugs.hpp"

struct AddNeighbour {
  bugs::Doubles in, out;
  bool fixed;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team) const {
    bugs::Scratch const tile(team.team_scratch(0), static_cast<std::size_t>(team.team_size()));
    int const rank = team.team_rank();
    int const i = team.league_rank() * team.team_size() + rank;
    tile(rank) = in(i);
    if (fixed) team.team_barrier();
    if (rank + 1 < team.team_size()) {
      if (!fixed) team.team_barrier();  // planted: the last thread never arrives here
      out(i) = tile(rank) + tile(rank + 1);
    } else {
      out(i) = tile(rank);
    }
  }
};

int main(int argc, char** argv) {
  bool const fixed = bugs::is_fixed(argc, argv);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  int const threads = bugs::team_threads(), teams = 8;
  bugs::Doubles const in = bugs::count_from(0, teams * threads), out("out", teams * threads);

  bugs::for_each_team("lone_barrier", teams, threads, AddNeighbour{in, out, fixed});

  return bugs::check(out, [threads](int i) { return (i + 1) % threads != 0 ? 2.0 * i + 1 : i; });
}
