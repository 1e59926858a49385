#pragma once
/// \file
/// Inclusive scan of a tile in scratch in two phases: serial runs and a scan of the runs' totals, then the addition of
/// both.

#include <Kokkos_Macros.hpp>

#include <tessera/collective/team/hillis_steele.hpp>
#include <tessera/collective/team/team.hpp>

namespace tessera::team {

/// Replaces data(0) .. data(n-1) by their inclusive scan.
///
/// Must be called by every thread of the team, with vector length 1. Scratch: the caller's `data` (at least n values),
/// and `totals` and `other` (at least one value per run). Barriers: the caller needs none between filling `data` and
/// the call; data is valid for every thread at the end. Operator: associative; the order of elements is kept.
///
/// Example, n = 6, run = 2, sum: 3 1 4 1 5 9 -> runs 3 4 | 4 5 | 5 14, totals 4 5 14 -> 4 9 23 -> 3 4 8 9 14 23.
template <Team M, class Values, class Op>
KOKKOS_FUNCTION void run_scan(M const& team, Values const& data, Values const& totals, Values const& other, int n,
                              int run, Op const& op) {
  int const runs = (n + run - 1) / run;
  team.team_barrier();
  for (int r = team.team_rank(); r < runs; r += team.team_size()) {
    int const end = (r + 1) * run < n ? (r + 1) * run : n;
    auto running = data(r * run);
    for (int i = r * run + 1; i < end; ++i) {
      running = op(running, data(i));
      data(i) = running;
    }
    totals(r) = running;
  }
  Values const prefix = hillis_steele(team, totals, other, runs, op);
  for (int i = run + team.team_rank(); i < n; i += team.team_size()) data(i) = op(prefix(i / run - 1), data(i));
  team.team_barrier();
}

}  // namespace tessera::team
