#pragma once
/// \file
/// Sorts the items of one lane in registers, without branches on their number; the compiler knows all indices.
///
/// Called by any lane; no scratch, no barriers. `before(a, b)` is true if a must precede b.
///
/// Example: 3 1 2 1 -> 1 1 2 3.
/// Sources: K. Batcher, Sorting networks and their applications (1968); D. Knuth, The Art of Computer Programming 3.

#include <Kokkos_Core.hpp>

#include <tessera/core/unroll.hpp>

namespace tessera::collective {

namespace detail {

template <class T, class Before>
KOKKOS_FORCEINLINE_FUNCTION void order_pair(T& low, T& high, Before const& before) {
  bool const swapped = before(high, low);
  T const smaller = swapped ? high : low;
  high = swapped ? low : high;
  low = smaller;
}

}  // namespace detail

/// Sorts `item` by Batcher's bitonic network: about N log2(N)^2 / 4 comparisons. Not stable. N is a power of two.
template <int N, class T, class Before>
KOKKOS_FORCEINLINE_FUNCTION void bitonic_sort_items(T (&item)[N], Before const& before) {
  static_assert(N > 0 && (N & (N - 1)) == 0, "Tessera: a bitonic network has a power of two of items");
  TESSERA_UNROLL
  for (int size = 2; size <= N; size *= 2) {
    TESSERA_UNROLL
    for (int stride = size / 2; stride > 0; stride /= 2) {
      int const partner = stride == size / 2 ? size - 1 : stride;  // the first step compares mirror images
      TESSERA_UNROLL
      for (int i = 0; i < N; ++i) {
        if ((i ^ partner) > i) detail::order_pair(item[i], item[i ^ partner], before);
      }
    }
  }
}

/// Sorts the first `count` items by odd-even transposition: N rounds of comparisons of neighbours. Stable. For few
/// items: N^2 / 2 comparisons.
template <int N, class T, class Before>
KOKKOS_FORCEINLINE_FUNCTION void stable_sort_items(T (&item)[N], int count, Before const& before) {
  TESSERA_UNROLL
  for (int round = 0; round < N; ++round) {
    TESSERA_UNROLL
    for (int i = round % 2; i + 1 < N; i += 2) {
      if (i + 1 < count) detail::order_pair(item[i], item[i + 1], before);
    }
  }
}

}  // namespace tessera::collective
