#pragma once
/// \file
/// Exclusive scan of a tile in scratch after Blelloch: up and down a balanced tree, 2n work.
/// Source: Blelloch, Prefix sums and their applications (1990), section 1.2.

#include <Kokkos_Macros.hpp>

#include <tessera/collective/operators.hpp>
#include <tessera/collective/team/team.hpp>

namespace tessera::team {

/// The power of two that n is padded to.
[[nodiscard]] KOKKOS_INLINE_FUNCTION int blelloch_padded(int n) {
  int padded = 1;
  while (padded < n) padded *= 2;
  return padded;
}

/// Replaces data[0, n) by its exclusive scan and returns the reduction of all n values.
///
/// Who calls: every thread of the team, vector length 1. Scratch: the caller's `data`, blelloch_padded(n) + 1 values,
/// of which the first n are filled. Barriers: one before each level (so the caller needs none between filling `data`
/// and the call) and one after the last: result and data are valid for every thread. Operator: associative with
/// identity; the order of elements is kept.
///
/// Example, n = 4, sum: 3 1 4 1 -> up 3 4 4 9 -> root cleared 3 4 4 0 -> down 3 0 4 4 -> 0 3 4 8, returns 9.
template <Team M, class T, class Op>
[[nodiscard]] KOKKOS_FUNCTION T blelloch(M const& team, T* data, int n, Op const& op) {
  int const padded = blelloch_padded(n);
  for (int i = n + team.team_rank(); i < padded; i += team.team_size()) data[i] = op.identity();
  for (int stride = 1; stride < padded; stride *= 2) {
    team.team_barrier();
    for (int right = 2 * stride * (team.team_rank() + 1) - 1; right < padded; right += 2 * stride * team.team_size()) {
      data[right] = op(data[right - stride], data[right]);
    }
  }
  team.team_barrier();
  if (team.team_rank() == 0) {
    data[padded] = data[padded - 1];
    data[padded - 1] = op.identity();
  }
  for (int stride = padded / 2; stride >= 1; stride /= 2) {
    team.team_barrier();
    for (int right = 2 * stride * (team.team_rank() + 1) - 1; right < padded; right += 2 * stride * team.team_size()) {
      // The right child's prefix is the parent's followed by the left subtree: in this order.
      T const left_subtree = data[right - stride];
      data[right - stride] = data[right];
      data[right] = op(data[right], left_subtree);
    }
  }
  team.team_barrier();
  return data[padded];
}

}  // namespace tessera::team
