#pragma once
/// \file
/// One thread's part of an array in registers: rows of W lanes x N elements. If the part is whole and aligned, a lane
/// loads and stores each row with one access, otherwise element by element with masks.
///
/// Element (row, lane, e) is at (row * W + lane) * N + e in the part. Neighbouring lanes access neighbouring packs, so
/// a warp's access is coalesced.
///
/// Must be called by all lanes of one thread, with the same pointer and count. No scratch, no barriers.
///
/// Example, W = 2, N = 2, 2 rows: lane 0 holds elements 0 1 and 4 5, lane 1 holds 2 3 and 6 7.

#include <Kokkos_Macros.hpp>

#include <cstddef>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>

namespace tessera::thread {

/// The elements of one lane.
template <class T, int RowCount, int N>
struct Rows {
  static constexpr int rows = RowCount;
  static constexpr int pack = N;
  collective::Pack<T, N> at[RowCount];
};

/// The position of an element in its thread's part.
template <int W, int N>
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr int row_offset(int row, int lane, int e) {
  return (row * W + lane) * N + e;
}

/// Calls `body(i, element)` for each element of one lane's rows; i is its position in the thread's part.
template <int W, class LaneRows, class Body>
KOKKOS_INLINE_FUNCTION void for_each_in_rows(int lane, LaneRows& rows, Body const& body) {
  for (int row = 0; row < LaneRows::rows; ++row) {
    for (int e = 0; e < LaneRows::pack; ++e) body(row_offset<W, LaneRows::pack>(row, lane, e), rows.at[row][e]);
  }
}

/// Returns the number of elements of [begin, begin + size) before `end`. Within a part 32 bits are enough, and take
/// half the registers on a GPU.
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr int count_before(std::size_t begin, std::size_t end, int size) {
  if (begin >= end) return 0;
  return end - begin < static_cast<std::size_t>(size) ? static_cast<int>(end - begin) : size;
}

/// Loads the first `count` elements of `part`, which has RowCount * W * N places. The remaining places are not read and
/// become `fill`.
template <lane::Lanes L, class Values, class T>
KOKKOS_FUNCTION void load_rows(L const& lanes, T const* part, int count, T const& fill, Values& values) {
  lanes.each(
      [&]<int RowCount, int N>(int lane, Rows<T, RowCount, N>& rows) {
        if (count == RowCount * L::width * N && collective::is_aligned_for_packs<N>(part)) {
          auto const* const packs = reinterpret_cast<collective::Pack<T, N> const*>(part);
          for (int row = 0; row < RowCount; ++row) rows.at[row] = packs[row * L::width + lane];
        } else {
          for_each_in_rows<L::width>(lane, rows, [&](int i, T& x) { x = i < count ? part[i] : fill; });
        }
      },
      values);
}

/// Stores elements only to the first `count` places of `part`.
template <lane::Lanes L, class Values, class T>
KOKKOS_FUNCTION void store_rows(L const& lanes, T* part, int count, Values const& values) {
  lanes.each(
      [&]<int RowCount, int N>(int lane, Rows<T, RowCount, N> const& rows) {
        if (count == RowCount * L::width * N && collective::is_aligned_for_packs<N>(part)) {
          auto* const packs = reinterpret_cast<collective::Pack<T, N>*>(part);
          for (int row = 0; row < RowCount; ++row) packs[row * L::width + lane] = rows.at[row];
        } else {
          for_each_in_rows<L::width>(lane, rows, [&](int i, T const& x) {
            if (i < count) part[i] = x;
          });
        }
      },
      values);
}

}  // namespace tessera::thread
