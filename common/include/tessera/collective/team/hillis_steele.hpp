#pragma once
/// \file
/// Inclusive scan of a tile in scratch after Hillis and Steele: log2(n) sweeps over the whole tile, n log2(n) work.
/// Source: Hillis and Steele, Data parallel algorithms (1986).

#include <Kokkos_Core.hpp>

#include <tessera/collective/operators.hpp>
#include <tessera/collective/team/team.hpp>

namespace tessera::team {

/// Scans from(0) .. from(n-1) and returns the View, `from` or `to`, that holds the result.
///
/// Who calls: every thread of the team, vector length 1. Scratch: the caller's two Views of n values or more; both are
/// overwritten. Two of them, because a sweep in place would read values that another thread has already replaced.
/// Barriers: one before every sweep (so the caller needs none between filling `from` and the call) and one after the
/// last: the result is valid for every thread. Operator: associative; the order of elements is kept.
///
/// Example, n = 6, sum: 3 1 4 1 5 9 -> 3 4 5 5 6 14 -> 3 4 8 9 11 19 -> 3 4 8 9 14 23.
template <Team M, class Values, class Op>
[[nodiscard]] KOKKOS_FUNCTION Values hillis_steele(M const& team, Values from, Values to, int n, Op const& op) {
  for (int distance = 1; distance < n; distance *= 2) {
    team.team_barrier();
    for (int i = team.team_rank(); i < n; i += team.team_size()) {
      to(i) = i >= distance ? op(from(i - distance), from(i)) : from(i);
    }
    Kokkos::kokkos_swap(from, to);
  }
  team.team_barrier();
  return from;
}

}  // namespace tessera::team
