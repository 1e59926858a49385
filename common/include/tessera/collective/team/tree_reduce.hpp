#pragma once
/// \file
/// Reduction of a tile in scratch by a tree whose strides double: neighbours first. fold_halves.hpp has the other
/// order.

#include <Kokkos_Macros.hpp>

#include <tessera/collective/team/team.hpp>

namespace tessera::team {

/// Reduces data[0, n) into data[0].
///
/// Must be called by every thread of the team, with vector length 1. Scratch: the caller's `data`, n values, n >= 1;
/// overwritten. Barriers: one before each of the ceil(log2 n) levels (so the caller needs none between filling `data`
/// and the call) and one after the last: data[0] is valid for every thread. Operator: associative; neighbours are
/// combined, so the order of elements is kept, for any n and any team size.
///
/// Example, n = 5, sum: 3 1 4 1 5 -> 4 . 5 . 5 -> 9 . . . 5 -> 14.
template <Team M, class T, class Op>
KOKKOS_FUNCTION void tree_reduce(M const& team, T* data, int n, Op const& op) {
  for (int stride = 1; stride < n; stride *= 2) {
    team.team_barrier();
    for (int left = 2 * stride * team.team_rank(); left + stride < n; left += 2 * stride * team.team_size()) {
      data[left] = op(data[left], data[left + stride]);
    }
  }
  team.team_barrier();
}

}  // namespace tessera::team
