// Each team reverses its elements by way of scratch.

#include "bugs.hpp"

struct ReverseTiles {
  bugs::Doubles in, out;
  bool fixed;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team) const {
    int const threads = team.team_size(), rank = team.team_rank(), first = team.league_rank() * threads;
    bugs::Scratch const tile(team.team_scratch(0), static_cast<std::size_t>(threads));
    tile(rank) = in(first + rank);
    if (fixed) team.team_barrier();  // planted: without it a thread reads before another one has written
    out(first + rank) = tile(threads - 1 - rank);
  }
};

int main(int argc, char** argv) {
  bool const fixed = bugs::is_fixed(argc, argv);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  int const threads = bugs::team_threads(), teams = 8;
  bugs::Doubles const in = bugs::count_from(0, teams * threads), out("out", teams * threads);

  bugs::for_each_team("missing_barrier", teams, threads, ReverseTiles{in, out, fixed});

  return bugs::check(out, [threads](int i) { return i / threads * threads + threads - 1.0 - i % threads; });
}
