#pragma once
/// \file
/// The elements of one thread's part, in no order: several 16-byte accesses of a lane under way where the part is whole
/// and aligned, element by element where it is not.

#include <Kokkos_Macros.hpp>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>

namespace tessera::thread {

/// Calls `body(lane, x)` until every element of the first `count` of `part` was in an array x: one of
/// RowCount * N elements where `count` is the whole part, RowCount * W * N, and packs of N can be read from it; else of
/// one element.
///
/// Who calls: all lanes of one thread; pointer and count are the same in all of them. The body must not exchange values
/// between lanes: they may have different trip counts. Scratch, barriers: none.
///
/// Example, W = 2, N = 2, 2 rows, 8 elements: lane 0 gets 0 1 4 5, lane 1 gets 2 3 6 7. Of 7: lane 0 gets 0, 2, 4, 6.
template <int RowCount, int N, lane::Lanes L, class T, class Body>
KOKKOS_FUNCTION void for_each_element(L const& lanes, T const* part, int count, Body const& body) {
  bool const whole = count == RowCount * L::width * N && collective::is_aligned_for_packs<N>(part);
  lanes.each([&](int lane) {
    if (whole) {
      T x[RowCount * N];
      for (int row = 0; row < RowCount; ++row) {
        collective::Pack<T, N> const pack = collective::pack_at<N>(part + (row * L::width + lane) * N);
        for (int e = 0; e < N; ++e) x[row * N + e] = pack[e];
      }
      body(lane, x);
    } else {
      for (int i = lane; i < count; i += L::width) {
        T const x[1] = {part[i]};
        body(lane, x);
      }
    }
  });
}

}  // namespace tessera::thread
