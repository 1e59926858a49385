#pragma once
/// \file
/// One thread's part of an array in registers: rows of W lanes x N elements, loaded and stored with one access a lane and
/// row where the part is whole and aligned, element by element and masked where it is not.
///
/// Element (row, lane, e) stands at (row * W + lane) * N + e from the part's begin: neighbouring lanes touch neighbouring
/// packs, so a warp's access is one contiguous piece.
/// Who calls: all lanes of one thread; `begin`, `end` and the pointer are the same in all of them. Scratch, barriers: none.
///
/// Example, W = 2, N = 2, 2 rows: lane 0 holds elements 0 1 and 4 5, lane 1 holds 2 3 and 6 7.

#include <Kokkos_Macros.hpp>

#include <cstddef>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>

namespace tessera::thread {

/// What one lane holds.
template <class T, int RowCount, int N>
struct Rows {
  static constexpr int rows = RowCount;
  static constexpr int pack = N;
  collective::Pack<T, N> at[RowCount];
};

/// Position of an element in its thread's part.
template <int W, int N>
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr int row_offset(int row, int lane, int e) {
  return (row * W + lane) * N + e;
}

/// Loads elements [begin, begin + RowCount * W * N) of `data` as far as they lie before `end`; the rest is not read, and
/// becomes `fill`.
template <lane::Lanes L, class Values, class T>
KOKKOS_FUNCTION void load_rows(L const& lanes, T const* data, std::size_t begin, std::size_t end, T const& fill,
                               Values& values) {
  auto const load_whole = [&]<int RowCount, int N>(int lane, Rows<T, RowCount, N>& rows) {
    auto const* const packs = reinterpret_cast<collective::Pack<T, N> const*>(data + begin);
    for (int row = 0; row < RowCount; ++row) rows.at[row] = packs[row * L::width + lane];
  };
  auto const load_masked = [&]<int RowCount, int N>(int lane, Rows<T, RowCount, N>& rows) {
    for (int row = 0; row < RowCount; ++row) {
      for (int e = 0; e < N; ++e) {
        std::size_t const i = begin + row_offset<L::width, N>(row, lane, e);
        rows.at[row][e] = i < end ? data[i] : fill;
      }
    }
  };
  lanes.each(
      [&]<int RowCount, int N>(int lane, Rows<T, RowCount, N>& rows) {
        if (begin + RowCount * L::width * N <= end && collective::is_aligned_for_packs<N>(data + begin)) {
          load_whole(lane, rows);
        } else {
          load_masked(lane, rows);
        }
      },
      values);
}

/// Stores them to the same positions, never at or past `end`.
template <lane::Lanes L, class Values, class T>
KOKKOS_FUNCTION void store_rows(L const& lanes, T* data, std::size_t begin, std::size_t end, Values const& values) {
  lanes.each(
      [&]<int RowCount, int N>(int lane, Rows<T, RowCount, N> const& rows) {
        if (begin + RowCount * L::width * N <= end && collective::is_aligned_for_packs<N>(data + begin)) {
          auto* const packs = reinterpret_cast<collective::Pack<T, N>*>(data + begin);
          for (int row = 0; row < RowCount; ++row) packs[row * L::width + lane] = rows.at[row];
        } else {
          for (int row = 0; row < RowCount; ++row) {
            for (int e = 0; e < N; ++e) {
              std::size_t const i = begin + row_offset<L::width, N>(row, lane, e);
              if (i < end) data[i] = rows.at[row][e];
            }
          }
        }
      },
      values);
}

}  // namespace tessera::thread
