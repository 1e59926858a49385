#pragma once
/// \file
/// A rectangular tile of a matrix in team scratch, loaded with masks.

#include <Kokkos_Core.hpp>

#include <cstddef>

namespace tessera::team {

/// A row-major matrix in memory: element (r, c) at data[r * cols + c].
template <class T>
struct Matrix {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
};

/// Loads `height` x `width` elements of a matrix, from (row, col) on, into `tile`: its element (r, c) is stored at
/// tile[r * stride + c]. Elements outside the matrix are not read and become `fill`. The places between the rows of the
/// tile (stride > width) are not touched.
///
/// Must be called by all threads of the team; neighbouring vector lanes access neighbouring columns. Scratch: height *
/// stride elements. Barriers: none; the caller needs one before the tile is read, and one before it is loaded again.
///
/// Example, 2 x 2 from (1, 2) of the 2 x 3 matrix 0 .. 5, fill 0: 5 0 | 0 0.
template <class Member, class T>
KOKKOS_FUNCTION void load_tile(Member const& team, Matrix<T const> const& matrix, std::size_t row, std::size_t col,
                               int height, int width, T const& fill, T* tile, int stride) {
  // The number of columns from `col` on, in 32 bits.
  int const in_row = col >= matrix.cols                                    ? 0
                     : matrix.cols - col < static_cast<std::size_t>(width) ? static_cast<int>(matrix.cols - col)
                                                                           : width;
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, height), [&](int r) {
    int const count = row + r < matrix.rows ? in_row : 0;
    T const* const from = matrix.data + (count > 0 ? (row + r) * matrix.cols + col : 0);
    T* const to = tile + r * stride;
    // Two loops without a condition, which a host's compiler vectorises.
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, count), [&](int c) { to[c] = from[c]; });
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, count, width), [&](int c) { to[c] = fill; });
  });
}

}  // namespace tessera::team
