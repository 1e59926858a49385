#pragma once
/// \file
/// Sorts the items of one thread's lanes by a bitonic network: comparisons within a lane are in registers, and those
/// between lanes exchange items. Source: K. Batcher, Sorting networks and their applications (1968).

#include <Kokkos_Core.hpp>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/sort_items.hpp>
#include <tessera/core/unroll.hpp>

namespace tessera::thread {

/// Sorts W * N items. Lane l has the items N l to N l + N - 1 of the result in item[0] to item[N - 1].
///
/// Must be called by all W lanes together. No scratch, no barriers; valid in every lane. Exchanges: N log2(W) (log2(W)
/// + 1) / 2. Not stable. N is a power of two. `before(a, b)` is true if a must precede b.
///
/// Example, W = 4, N = 1: 3 1 2 1 -> pairs 1 3 | 1 2 -> mirrored 1 1 | 3 2 -> neighbours 1 1 2 3.
template <int N, lane::Lanes L, class T, class Before>
KOKKOS_FUNCTION void bitonic_sort(L const& lanes, typename L::template Value<T> (&item)[N], Before const& before) {
  static_assert(N > 0 && (N & (N - 1)) == 0, "Tessera: a bitonic network has a power of two of items");
  using Value = typename L::template Value<T>;
  TESSERA_UNROLL
  for (int size = 2; size <= N * L::width; size *= 2) {
    TESSERA_UNROLL
    for (int stride = size / 2; stride > 0; stride /= 2) {
      int const partner = stride == size / 2 ? size - 1 : stride;  // the first step compares mirror images
      if (partner < N) {
        TESSERA_UNROLL
        for (int i = 0; i < N; ++i) {
          if ((i ^ partner) <= i) continue;
          lanes.each([&](int, T& low, T& high) { collective::detail::order_pair(low, high, before); }, item[i],
                     item[i ^ partner]);
        }
      } else {
        int const of_lane = partner / N;
        Value other[N];
        TESSERA_UNROLL
        for (int i = 0; i < N; ++i) other[i] = lanes.exchange(item[i ^ (partner % N)], of_lane);
        TESSERA_UNROLL
        for (int i = 0; i < N; ++i) {
          lanes.each(
              [&](int lane, T& own, T& theirs) {
                bool const is_lower = (lane ^ of_lane) > lane;
                if (is_lower ? before(theirs, own) : before(own, theirs)) own = theirs;
              },
              item[i], other[i]);
        }
      }
    }
  }
}

}  // namespace tessera::thread
