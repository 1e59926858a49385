#pragma once
/// \file
/// Exclusive scan of a tile in scratch after Blelloch: up and down a balanced tree, 2n work. On a GPU the threads of
/// one level have bank conflicts, unless `tree` has padded indices (bank_padded.hpp).
/// Source: Blelloch, Prefix sums and their applications (1990), section 1.2.

#include <Kokkos_Core.hpp>

#include <tessera/collective/team/team.hpp>

namespace tessera::team {

/// Returns the number of leaves of the tree over n values: n rounded up to a power of two.
[[nodiscard]] KOKKOS_INLINE_FUNCTION int blelloch_leaves(int n) {
  return static_cast<int>(Kokkos::bit_ceil(static_cast<unsigned>(n)));
}

/// Replaces tree(0) .. tree(n-1) by their exclusive scan and returns the reduction of all n values.
///
/// Must be called by every thread of the team, with vector length 1. Scratch: the caller's `tree`, blelloch_leaves(n) +
/// 1 values, the first n of which are filled. Barriers: one before each level (so the caller needs none between filling
/// `tree` and the call) and one after the last: result and tree are valid for every thread. Operator: associative with
/// identity; the order of elements is kept.
///
/// Example, n = 4, sum: 3 1 4 1 -> up 3 4 4 5 -> 3 4 4 9 -> root cleared 3 4 4 0 -> down 3 0 4 4 -> 0 3 4 8, returns 9.
template <Team M, class Values, class Op>
[[nodiscard]] KOKKOS_FUNCTION auto blelloch(M const& team, Values const& tree, int n, Op const& op) {
  using T = typename Values::non_const_value_type;
  int const leaves = blelloch_leaves(n);
  for (int i = n + team.team_rank(); i < leaves; i += team.team_size()) tree(i) = op.identity();

  // Up: every right child becomes the sum of its subtree.
  for (int stride = 1; stride < leaves; stride *= 2) {
    team.team_barrier();
    for (int right = 2 * stride * (team.team_rank() + 1) - 1; right < leaves; right += 2 * stride * team.team_size()) {
      tree(right) = op(tree(right - stride), tree(right));
    }
  }
  team.team_barrier();
  if (team.team_rank() == 0) {
    tree(leaves) = tree(leaves - 1);
    tree(leaves - 1) = op.identity();
  }
  // Down: the left child gets the total before its parent, the right child gets the same total followed by the left
  // subtree.
  for (int stride = leaves / 2; stride >= 1; stride /= 2) {
    team.team_barrier();
    for (int right = 2 * stride * (team.team_rank() + 1) - 1; right < leaves; right += 2 * stride * team.team_size()) {
      T const left_subtree = tree(right - stride);
      tree(right - stride) = tree(right);
      tree(right) = op(tree(right), left_subtree);
    }
  }
  team.team_barrier();
  return T(tree(leaves));
}

}  // namespace tessera::team
