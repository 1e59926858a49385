#pragma once
/// \file
/// Reduction of a tile in scratch by a tree of neighbours, packed after each level: values 2i and 2i + 1 become value
/// i. The working threads are neighbours, as in fold_halves.hpp, and the order of values is kept, as in
/// tree_reduce.hpp. A level overwrites places that it also reads, so it reads into registers, and all threads wait
/// before they write.
/// Source: the tree of Blelloch, Prefix sums and their applications (1990), with its levels stored in the same place.
/// Reads and writes are separated as in Hillis and Steele's scan in one buffer (hillis_steele.hpp).

#include <Kokkos_Macros.hpp>

#include <tessera/collective/team/team.hpp>

namespace tessera::team {

/// Reduces values(0) .. values(n-1) into values(0).
///
/// A level with more pairs than the team has threads takes several rounds, from its first pairs on. A round writes only
/// below the places that later rounds read.
///
/// Must be called by every thread of the team, with vector length 1. Scratch: the caller's `values`, n values, n >= 1;
/// overwritten. Barriers: one before each level (so the caller needs none between filling `values` and the call), one
/// between reading and writing in each round, and one after the last level: values(0) is valid for every thread.
/// Operator: associative; any n, any team size.
///
/// Example, n = 5, sum: 3 1 4 1 5 -> 4 5 5 -> 9 5 -> 14.
template <Team M, class Values, class Op>
KOKKOS_FUNCTION void fold_pairs(M const& team, Values const& values, int n, Op const& op) {
  for (int count = n; count > 1; count = (count + 1) / 2) {
    int const pairs = (count + 1) / 2;  // the last may be a value without a neighbour
    team.team_barrier();
    for (int begin = 0; begin < pairs; begin += team.team_size()) {
      int const i = begin + team.team_rank();
      typename Values::non_const_value_type folded{};
      if (i < pairs) folded = 2 * i + 1 < count ? op(values(2 * i), values(2 * i + 1)) : values(2 * i);
      team.team_barrier();
      if (i < pairs) values(i) = folded;
    }
  }
  team.team_barrier();
}

/// fold_pairs as a type, for kernels that leave the fold open.
struct FoldPairs {
  KOKKOS_FUNCTION static void fold(auto const&... arguments) { fold_pairs(arguments...); }
};

}  // namespace tessera::team
