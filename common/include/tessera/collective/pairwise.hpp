#pragma once
/// \file
/// Adds a few packs that one lane holds to another, pair by pair: an addition waits for log2(N) others, not for all, and a sum has
/// as many roundings.
///
/// Who calls: any lane. Scratch, barriers: none. Rounding steps: log2(N) + 1.
///
/// Example, packs of one, to 100: 1 2 3 4 5 6 7 8 -> 3 7 11 15 -> 10 26 -> 36 -> 136.

#include <Kokkos_Macros.hpp>

namespace tessera::collective {

/// `packs`: N of E numbers, which are lost. `to` [E]: an array or a Pack. The elements of a pack are the inner loop, which hosts
/// make vectors of.
template <int N, int E, class T, class To>
KOKKOS_INLINE_FUNCTION void add_pairwise(T (&packs)[N][E], To& to) {
  for (int stride = 1; stride < N; stride *= 2) {
    for (int k = 0; k + stride < N; k += 2 * stride) {
      for (int e = 0; e < E; ++e) packs[k][e] += packs[k + stride][e];
    }
  }
  for (int e = 0; e < E; ++e) to[e] += packs[0][e];
}

}  // namespace tessera::collective
