#pragma once
/// \file
/// Candidates for the k largest elements, and heaps of them.

#include <cstdint>
#include <limits>

#include <Kokkos_Core.hpp>

#include <tessera/collective/key_order.hpp>

namespace tessera::top_k {

/// An element by its place in the order; unless set, worse than all elements.
template <class T>
struct Candidate {
  collective::KeyWord<T> word = 0;
  std::int64_t index = std::numeric_limits<std::int64_t>::max();

  /// Returns whether this one is taken first.
  [[nodiscard]] KOKKOS_FUNCTION bool before(Candidate const& other) const {
    return word > other.word || (word == other.word && index < other.index);
  }
};

/// Replaces the root of a heap of `size` candidates, which is the worst of them, and moves the new one down to its
/// place.
template <class T>
KOKKOS_INLINE_FUNCTION void replace_root(Candidate<T>* heap, int size, Candidate<T> const& with) {
  int hole = 0;
  for (int child = 1; child < size; child = 2 * hole + 1) {
    if (child + 1 < size && heap[child].before(heap[child + 1])) ++child;
    if (!with.before(heap[child])) break;
    heap[hole] = heap[child];
    hole = child;
  }
  heap[hole] = with;
}

/// Puts a candidate into a heap of size `k` in place of the worst one, unless it is worse itself.
template <class T>
KOKKOS_INLINE_FUNCTION void offer(Candidate<T>* heap, int k, Candidate<T> const& candidate) {
  if (candidate.before(heap[0])) replace_root(heap, k, candidate);
}

}  // namespace tessera::top_k
