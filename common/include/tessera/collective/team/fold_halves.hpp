#pragma once
/// \file
/// Reduction of a tile in scratch by a tree whose strides halve: each level folds the upper half of the remaining
/// values onto the lower half. CUDA calls this sequential addressing: the working threads are neighbours, and so are
/// their values. Whole warps become idle, and there are no bank conflicts. tree_reduce.hpp has the other order
/// (interleaved addressing), which combines neighbours.
/// Source: Harris, Optimizing parallel reduction in CUDA (2007), reduction 3.

#include <Kokkos_Macros.hpp>

#include <tessera/collective/team/team.hpp>

namespace tessera::team {

/// Reduces values(0) .. values(n-1) into values(0).
///
/// Must be called by every thread of the team, with vector length 1. Scratch: the caller's `values`, n values, n >= 1;
/// overwritten. Barriers: one before each level (so the caller needs none between filling `values` and the call) and
/// one after the last: values(0) is valid for every thread. One barrier per level is enough, because a level writes
/// only below `stride` and reads other threads' values only from `stride` on. Operator: associative and commutative;
/// any n, any team size.
///
/// Example, n = 5, sum: 3 1 4 1 5 -> stride 4: 8 1 4 1 -> stride 2: 12 2 -> stride 1: 14.
template <Team M, class Values, class Op>
KOKKOS_FUNCTION void fold_halves(M const& team, Values const& values, int n, Op const& op) {
  static_assert(Op::commutative, "Tessera: fold_halves combines values that are no neighbours");
  int stride = 1;  // the largest power of two below n
  while (2 * stride < n) stride *= 2;
  for (; stride > 0; stride /= 2) {
    team.team_barrier();
    for (int i = team.team_rank(); i < stride && i + stride < n; i += team.team_size()) {
      values(i) = op(values(i), values(i + stride));
    }
  }
  team.team_barrier();
}

/// fold_halves as a type, for kernels that leave the fold open.
struct FoldHalves {
  KOKKOS_FUNCTION static void fold(auto const&... arguments) { fold_halves(arguments...); }
};

}  // namespace tessera::team
