#pragma once
/// \file
/// Inclusive scan of a tile in scratch after Hillis and Steele: log2(n) sweeps over the whole tile, n log2(n) work.
/// Source: Hillis and Steele, Data parallel algorithms (1986).

#include <Kokkos_Core.hpp>

#include <tessera/collective/team/team.hpp>

namespace tessera::team {

/// Scans from(0) .. from(n-1) and returns the View, `from` or `to`, that holds the result.
///
/// Must be called by every thread of the team, with vector length 1. Scratch: the caller's two Views of at least n
/// values; both are overwritten. Two Views are needed, because a sweep in place would read values that another thread
/// has already replaced. Barriers: one before every sweep (so the caller needs none between filling `from` and the
/// call) and one after the last: the result is valid for every thread. Operator: associative; the order of elements is
/// kept.
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

/// Replaces data(0) .. data(n-1) by their inclusive scan, without a second View: a sweep first reads the other elements
/// that it needs into registers, `Items` values per thread, and then replaces its own.
///
/// If a team cannot hold n values, a sweep takes blocks of Items * threads elements, from the last block to the first.
/// A block reads its own elements before its barrier, and elements of earlier blocks, which the sweep replaces later.
///
/// Must be called by every thread of the team, with vector length 1. Scratch: the caller's View of n values or more.
/// Barriers: one before every sweep (so the caller needs none between filling `data` and the call), one between reading
/// and writing in every block, and one after the last: the result is valid for every thread. Operator: associative with
/// identity; the order of elements is kept.
///
/// Example, n = 6, blocks of 4, sum, distance 1: 3 1 4 1 5 9 -> 3 1 4 1 | 6 14 -> 3 4 5 5 | 6 14.
template <int Items, Team M, class Values, class Op>
KOKKOS_FUNCTION void hillis_steele_in_place(M const& team, Values const& data, int n, Op const& op) {
  int const threads = team.team_size();
  int const block = Items * threads;
  for (int distance = 1; distance < n; distance *= 2) {
    team.team_barrier();
    for (int begin = (n - 1) / block * block; begin + block > distance; begin -= block) {
      typename Values::non_const_value_type before[Items];
      int const first = begin + team.team_rank();
      for (int k = 0; k < Items; ++k) {
        int const i = first + k * threads;
        if (i >= distance && i < n) before[k] = data(i - distance);
      }
      team.team_barrier();
      for (int k = 0; k < Items; ++k) {
        int const i = first + k * threads;
        if (i >= distance && i < n) data(i) = op(before[k], data(i));
      }
    }
  }
  team.team_barrier();
}

}  // namespace tessera::team
