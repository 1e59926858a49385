#pragma once
/// \file
/// Splits a matrix along its rows: into tiles as wide as the rows allow, one per team, and these into pieces of rows,
/// one per thread. One row of many columns then fills teams as well as many rows of one column.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>

namespace tessera::kernels {

/// Returns tiles of at most `elements` (a multiple of 32). If rows are short, a tile is several whole rows. If they are
/// long, a tile is a part of one row, in multiples of 32 columns so that packs of a row stay aligned; all tiles of a
/// row but the last are equally long.
///
/// Example, tiles of 64: 100 x 10 -> 6 x 10; 100 x 65 -> 1 x 64; 100 x 130 -> 1 x 64; 2 x 10 -> 2 x 10.
[[nodiscard]] inline collective::MatrixTiles row_tiles(std::size_t rows, std::size_t cols, int elements) {
  if (rows == 0 || cols == 0) return {.rows = rows, .cols = cols};
  auto const most = static_cast<std::size_t>(elements);
  std::size_t const across = tiles_of(cols, most);
  std::size_t const width = across == 1 ? cols : tiles_of(tiles_of(cols, across), 32) * 32;
  std::size_t const height = std::min(rows, std::max<std::size_t>(1, most / width));
  return {.rows = rows, .cols = cols, .tile_rows = static_cast<int>(height), .tile_cols = static_cast<int>(width)};
}

/// Returns tiles for an MDRange: 256 threads on a GPU; on hosts as much as a thread's caches hold.
template <ExecutionSpace Exec>
[[nodiscard]] collective::MatrixTiles mdrange_tiles(std::size_t rows, std::size_t cols) {
  return row_tiles(rows, cols, is_gpu<Exec> ? 256 : 8192);
}

/// An MDRange of (col, row). The column is the first index: Kokkos varies it fastest, and neighbouring threads of a GPU
/// handle neighbouring columns (in Kokkos 4 for any order of iteration).
template <ExecutionSpace Exec, class Index>
using ColumnsFirst = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                                           Kokkos::IndexType<Index>>;

/// Returns the policy over such tiles. Index: 32 bits suffice for up to 2^30 elements (an index may exceed the end by
/// one tile before it is compared).
template <class Index, ExecutionSpace Exec>
[[nodiscard]] ColumnsFirst<Exec, Index> columns_first(Exec const& exec, collective::MatrixTiles const& tiles) {
  using Bounds = typename ColumnsFirst<Exec, Index>::point_type;
  return ColumnsFirst<Exec, Index>(exec, Bounds{0, 0},
                                   Bounds{static_cast<std::int64_t>(tiles.cols), static_cast<std::int64_t>(tiles.rows)},
                                   typename ColumnsFirst<Exec, Index>::tile_type{tiles.tile_cols, tiles.tile_rows});
}

/// Returns the number of lanes per thread for `items` side by side: a power of two, at most 32; 1 on hosts.
template <ExecutionSpace Exec>
[[nodiscard]] int lanes_for(std::size_t items) {
  if (!is_gpu<Exec>) return 1;
  return static_cast<int>(std::bit_ceil(std::clamp<std::size_t>(items, 1, 32)));
}

/// Calls `body(row, col, count)` for pieces of `piece` columns (fewer at the end of a row) of the rows of a tile.
///
/// Must be called by all threads of the team; the lanes of one thread run the body together. No scratch, no barriers.
///
/// Example, 2 rows of 5 columns, pieces of 3: (0, 0, 3) (0, 3, 2) (1, 0, 3) (1, 3, 2).
template <class Member, class Body>
KOKKOS_FUNCTION void for_each_row_piece(Member const& team, collective::MatrixTiles::Place const& place, int piece,
                                        Body const& body) {
  int const pieces = (place.col_count + piece - 1) / piece;
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, place.row_count * pieces), [&](int i) {
    int const row = i / pieces;
    int const col = (i - row * pieces) * piece;
    int const left = place.col_count - col;
    body(place.row + row, place.col + col, left < piece ? left : piece);
  });
}

}  // namespace tessera::kernels
