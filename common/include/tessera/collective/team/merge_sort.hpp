#pragma once
/// \file
/// A stable sort of a tile in scratch. Each thread sorts chunks in registers. Then the team merges runs; each thread
/// makes the same number of items. Source: O. Green, R. McColl, D. Bader: GPU Merge Path (2012).

#include <Kokkos_Core.hpp>

#include <tessera/collective/merge_path.hpp>
#include <tessera/collective/sort_items.hpp>
#include <tessera/collective/team/team.hpp>
#include <tessera/core/unroll.hpp>

namespace tessera::team {

/// Merges pairs of sorted runs of `run` items: from(0) to from(n-1) to runs of 2 run items in `to`. The last run may be
/// short, and the last pair may be one run.
///
/// Must be called by every thread of the team, with vector length 1. Scratch: the caller's, two Views of n items.
/// Barriers: none; the caller needs one before (`from` is complete) and one after (`to` is). `run` is a multiple of
/// Chunk. `before(a, b)` is true if a must precede b. Stable.
///
/// Example, run = 2, Chunk = 2: 1 4 | 2 3 | 5 6 | 0 -> 1 2 3 4 | 0 5 6.
template <int Chunk, Team M, class Items, class Before>
KOKKOS_FUNCTION void merge_runs(M const& team, Items const& from, Items const& to, int n, int run,
                                Before const& before) {
  for (int begin = team.team_rank() * Chunk; begin < n; begin += team.team_size() * Chunk) {
    int const pair = begin / (2 * run) * (2 * run);
    int const middle = Kokkos::min(pair + run, n);
    int const last = Kokkos::min(middle + run, n);
    collective::merge_items([&](int i) { return from(pair + i); }, middle - pair,
                            [&](int i) { return from(middle + i); }, last - middle, begin - pair,
                            Kokkos::min(begin + Chunk, last) - pair, before,
                            [&](int i, auto const& item) { to(pair + i) = item; });
  }
}

/// Sorts from(0) to from(n-1) and returns the View, `from` or `to`, that holds the result.
///
/// Must be called by every thread of the team, with vector length 1. Scratch: the caller's two Views of at least n
/// items; both are overwritten. Barriers: one at the beginning (so the caller needs none between filling `from` and the
/// call), one after the chunks, and one after each of ceil(log2(n / Chunk)) merges: the result is valid for every
/// thread. `before(a, b)` is true if a must precede b. Stable.
///
/// Example, Chunk = 2: 4 1 3 2 6 5 0 -> 1 4 | 2 3 | 5 6 | 0 -> 1 2 3 4 | 0 5 6 -> 0 1 2 3 4 5 6.
template <int Chunk, Team M, class Items, class Before>
[[nodiscard]] KOKKOS_FUNCTION Items merge_sort(M const& team, Items from, Items to, int n, Before const& before) {
  using Item = typename Items::non_const_value_type;
  team.team_barrier();
  for (int begin = team.team_rank() * Chunk; begin < n; begin += team.team_size() * Chunk) {
    int const count = Kokkos::min(Chunk, n - begin);
    Item item[Chunk];
    TESSERA_UNROLL
    for (int k = 0; k < Chunk; ++k) {
      if (k < count) item[k] = from(begin + k);
    }
    collective::stable_sort_items(item, count, before);
    TESSERA_UNROLL
    for (int k = 0; k < Chunk; ++k) {
      if (k < count) from(begin + k) = item[k];
    }
  }
  team.team_barrier();
  for (int run = Chunk; run < n; run *= 2) {
    merge_runs<Chunk>(team, from, to, n, run, before);
    team.team_barrier();
    Kokkos::kokkos_swap(from, to);
  }
  return from;
}

}  // namespace tessera::team
