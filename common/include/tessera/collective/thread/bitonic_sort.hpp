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

/// Sorts the items of each group of lanes by themselves. A lane has item[0] to item[N - 1]; in the end the items are in
/// order from the group's first lane to its last.
///
/// Must be called by all W lanes together. No scratch, no barriers; valid in every lane. Not stable.
/// \param group for each lane the lanes of its group, a power of two from 1 to W. A group begins at a multiple of it.
///
/// Example, W = 4, N = 1, groups of 2, 1 and 1: 3 1 2 1 -> 1 3 | 2 | 1.
template <int N, lane::Lanes L, class T, class Before>
KOKKOS_FUNCTION void bitonic_sort_groups(L const& lanes, typename L::template Value<T> (&item)[N],
                                         typename L::template Value<int> const& group, Before const& before) {
  static_assert(N > 0 && (N & (N - 1)) == 0, "Tessera: a bitonic network has a power of two of items");
  using Value = typename L::template Value<T>;
  auto const order = [&](int i, int j) {
    lanes.each([&](int, T& low, T& high) { collective::detail::order_pair(low, high, before); }, item[i], item[j]);
  };
  collective::merge_network<N>(order);
  for (int of_group = 2; of_group <= L::width; of_group *= 2) {
    auto merges = lanes.template fill<bool>(false);
    lanes.each([&](int, bool& own, int lanes_of_group) { own = lanes_of_group >= of_group; }, merges, group);
    if (!lanes.any(merges)) break;
    // Lanes of smaller groups keep their items, which later steps leave as they are.
    auto const keep = [&](int stride, Value& items, Value const& others) {
      lanes.each(
          [&](int lane, T& own, T const& theirs, bool has_partner) {
            bool const is_lower = (lane & stride) == 0;
            if (has_partner && (is_lower ? before(theirs, own) : before(own, theirs))) own = theirs;
          },
          items, others, merges);
    };
    TESSERA_UNROLL
    for (int i = 0; i < (N + 1) / 2; ++i) {  // the first step compares mirror images
      Value const low = lanes.exchange(item[i], of_group - 1);
      Value const high = lanes.exchange(item[N - 1 - i], of_group - 1);
      keep(of_group / 2, item[i], high);
      if (N - 1 - i != i) keep(of_group / 2, item[N - 1 - i], low);
    }
    for (int stride = of_group / 4; stride > 0; stride /= 2) {
      TESSERA_UNROLL
      for (int i = 0; i < N; ++i) keep(stride, item[i], lanes.exchange(item[i], stride));
    }
    TESSERA_UNROLL
    for (int stride = N / 2; stride > 0; stride /= 2) {
      TESSERA_UNROLL
      for (int i = 0; i < N; ++i) {
        if ((i & stride) == 0) order(i, i + stride);
      }
    }
  }
}

}  // namespace tessera::thread
