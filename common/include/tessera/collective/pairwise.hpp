#pragma once
/// \file
/// Adds N packs that one lane holds to a sum, pairwise: each addition depends on log2(N) earlier ones instead of all,
/// and a sum has log2(N) + 1 roundings.
///
/// May be called by any lane. No scratch, no barriers. Rounding steps: log2(N) + 1.
///
/// Example, packs of one element, added to 100: 1 2 3 4 5 6 7 8 -> 3 7 11 15 -> 10 26 -> 36 -> 136.

#include <Kokkos_Macros.hpp>

namespace tessera::collective {

/// Adds `packs` [N][E] to `to` [E], which is an array or a Pack; `packs` is overwritten. The inner loop runs over the
/// elements of a pack, so that hosts vectorise it.
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
