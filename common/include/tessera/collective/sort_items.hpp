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

/// Calls `order(i, j)`, i < j, for each pair of N places that Batcher's odd-even merge network puts in order. For 8, 16
/// and 32 items these are 19, 63 and 191 pairs; a bitonic network has 24, 80 and 240. N is a power of two.
///
/// \tparam run, stride the step to begin with: pairs of runs of `run` items are merged, and `stride` places compared
template <int N, int run = 1, int stride = run, class Order>
KOKKOS_FORCEINLINE_FUNCTION void merge_network(Order const& order) {
  static_assert(N > 0 && (N & (N - 1)) == 0, "Tessera: a merge network has a power of two of items");
  if constexpr (run < N) {
    // Steps are template parameters, so that each compiler knows the bounds of the loops.
    TESSERA_UNROLL
    for (int begin = stride % run; begin + stride < N; begin += 2 * stride) {
      TESSERA_UNROLL
      for (int k = 0; k < stride; ++k) {
        int const i = begin + k;
        if (i + stride < N && i / (2 * run) == (i + stride) / (2 * run)) order(i, i + stride);
      }
    }
    if constexpr (stride > 1) {
      merge_network<N, run, stride / 2>(order);
    } else {
      merge_network<N, 2 * run>(order);
    }
  }
}

/// Sorts `item` by Batcher's odd-even merge network. Not stable. N is a power of two.
template <int N, class T, class Before>
KOKKOS_FORCEINLINE_FUNCTION void merge_sort_items(T (&item)[N], Before const& before) {
  merge_network<N>([&](int i, int j) { detail::order_pair(item[i], item[j], before); });
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
