#pragma once
/// \file
/// The merge path: how many of the first items of a merge come from the first of two sorted runs. A thread
/// that makes some items of a merge uses it to find where they begin in both runs, without making the items before.
///
/// Called by any lane; no scratch, no barriers. Runs are sorted by `before(a, b)`, which is true if a must precede b.
/// The merge is stable: if items are equal, the items of the first run come first.
///
/// Example: runs 1 3 5 7 and 2 3 4, merge 1 2 3 3 4 5 7: 2 of the first 4 items come from run 1, 3 of the first 6.
/// Source: O. Green, R. McColl, D. Bader: GPU Merge Path (2012).

#include <Kokkos_Core.hpp>

namespace tessera::collective {

/// Returns how many of the first `count` items of the merge come from the first run; 0 <= count <= n1 + n2. Takes at
/// most log2(min(n1, n2, count)) + 1 comparisons.
///
/// \param first, second `first(i)` is item i of the first run, 0 <= i < n1; likewise `second`
template <class First, class Second, class Index, class Before>
[[nodiscard]] KOKKOS_INLINE_FUNCTION Index merge_path(First const& first, Index n1, Second const& second, Index n2,
                                                      Index count, Before const& before) {
  Index least = count > n2 ? count - n2 : Index(0);
  Index most = count < n1 ? count : n1;
  while (least < most) {
    Index const middle = least + (most - least) / 2;
    if (before(second(count - 1 - middle), first(middle))) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  return least;
}

/// Makes items `begin` to `end - 1` of the merge: calls `take(i, item)` for each, in order.
template <class First, class Second, class Index, class Before, class Take>
KOKKOS_INLINE_FUNCTION void merge_items(First const& first, Index n1, Second const& second, Index n2, Index begin,
                                        Index end, Before const& before, Take const& take) {
  Index a = merge_path(first, n1, second, n2, begin, before);
  Index b = begin - a;
  for (Index i = begin; i < end; ++i) {
    bool const is_second = a == n1 || (b < n2 && before(second(b), first(a)));
    take(i, is_second ? second(b) : first(a));
    (is_second ? b : a) += 1;
  }
}

}  // namespace tessera::collective
