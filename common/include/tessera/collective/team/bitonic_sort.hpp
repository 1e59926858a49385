#pragma once
/// \file
/// Sorts a tile in scratch by a bitonic network. Source: K. Batcher, Sorting networks and their applications (1968).

#include <Kokkos_Core.hpp>

#include <tessera/collective/sort_items.hpp>
#include <tessera/collective/team/team.hpp>

namespace tessera::team {

/// Sorts items(0) to items(n-1) in place. n may be any number: each comparison leaves the smaller item at the lower
/// place. Items beyond the end would be larger than all others and never move, so they need not exist.
///
/// Must be called by every thread of the team, with vector length 1. Scratch: the caller's View of n items or more.
/// Barriers: one before every step (so the caller needs none between filling `items` and the call) and one after the
/// last: the result is valid for every thread. Steps: k (k + 1) / 2 with k = ceil(log2(n)). Not stable. `before(a, b)`
/// is true if a must precede b.
///
/// Example, n = 3: 3 1 2 -> pairs 1 3 | 2 -> mirrored (1, -) (3, 2) 1 2 3 -> neighbours 1 2 3.
template <Team M, class Items, class Before>
KOKKOS_FUNCTION void bitonic_sort(M const& team, Items const& items, int n, Before const& before) {
  for (int size = 2; size / 2 < n; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      team.team_barrier();
      int const pairs = (n + 2 * stride - 1) / (2 * stride) * stride;
      for (int pair = team.team_rank(); pair < pairs; pair += team.team_size()) {
        int const place = pair & (stride - 1);
        int const begin = 2 * (pair - place);
        int const high = stride == size / 2 ? begin + size - 1 - place : begin + place + stride;
        if (high < n) collective::detail::order_pair(items(begin + place), items(high), before);
      }
    }
  }
  team.team_barrier();
}

}  // namespace tessera::team
