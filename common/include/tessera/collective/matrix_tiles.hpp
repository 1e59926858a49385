#pragma once
/// \file
/// Splits a matrix into tiles, one per team, and maps team numbers to tiles.

#include <Kokkos_Macros.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tessera::collective {

/// Tiles of `tile_rows` x `tile_cols` of a `rows` x `cols` matrix; tiles at the bottom and right edge may be smaller.
/// Neighbouring teams take neighbouring tiles. With `band` 1 they follow one row of tiles. With a larger `band` they go
/// down that many tiles, then one column of tiles to the right, so that a transpose also writes whole memory pages.
///
/// Example, 2 x 3 tiles: band 1 -> (0, 0) (0, 1) (0, 2) (1, 0) ...; band 2 -> (0, 0) (1, 0) (0, 1) (1, 1) ...
struct MatrixTiles {
  std::size_t rows = 0;
  std::size_t cols = 0;
  int tile_rows = 1;
  int tile_cols = 1;
  int band = 1;

  /// The first element of a tile, and the number of its rows and columns that lie in the matrix.
  struct Place {
    std::size_t row;
    std::size_t col;
    int row_count;
    int col_count;
  };

  [[nodiscard]] KOKKOS_FUNCTION std::size_t across() const { return (cols + tile_cols - 1) / tile_cols; }
  [[nodiscard]] KOKKOS_FUNCTION std::size_t down() const { return (rows + tile_rows - 1) / tile_rows; }

  /// Returns the place of tile number `tile`.
  /// \param tile 0 .. across() * down() - 1, below 2^31 (the limit of a league)
  [[nodiscard]] KOKKOS_FUNCTION Place place(std::size_t tile) const {
    // In 32 bits, which are enough for any tile number: 64-bit division is many times slower on a GPU.
    auto const number = static_cast<std::uint32_t>(tile);
    auto const per_row = static_cast<std::uint32_t>(across());
    std::uint32_t tile_row = number / per_row;
    std::uint32_t tile_col = number - tile_row * per_row;
    if (band > 1) {
      // The band of this tile. The last band may have fewer rows of tiles.
      auto const first = tile_row - tile_row % band;
      auto const left = static_cast<std::uint32_t>(down()) - first;
      auto const height = left < static_cast<std::uint32_t>(band) ? left : static_cast<std::uint32_t>(band);
      std::uint32_t const in_band = number - first * per_row;
      tile_col = in_band / height;
      tile_row = first + (in_band - tile_col * height);
    }
    std::size_t const row = static_cast<std::size_t>(tile_row) * tile_rows;
    std::size_t const col = static_cast<std::size_t>(tile_col) * tile_cols;
    return {.row = row,
            .col = col,
            .row_count = rows - row < static_cast<std::size_t>(tile_rows) ? static_cast<int>(rows - row) : tile_rows,
            .col_count = cols - col < static_cast<std::size_t>(tile_cols) ? static_cast<int>(cols - col) : tile_cols};
  }

  /// Returns the number of tiles, which is the number of teams.
  [[nodiscard]] std::size_t count() const { return across() * down(); }
};

/// Returns tiles of `tile_rows` x `tile_cols` (powers of two). If the matrix has fewer rows or columns, tiles get
/// another shape with as many elements, so that a matrix with few rows or few columns also fills its teams. Extents of
/// a tile stay powers of two and do not exceed the matrix' own extent rounded up to a power of two.
///
/// Example, 32 x 32: 1 x 5000 -> 1 x 1024; 5000 x 3 -> 256 x 4; 20 x 5000 -> 32 x 32; 5 x 6 -> 8 x 8.
[[nodiscard]] inline MatrixTiles fitted_tiles(std::size_t rows, std::size_t cols, int tile_rows, int tile_cols) {
  std::size_t const elements = static_cast<std::size_t>(tile_rows) * static_cast<std::size_t>(tile_cols);
  std::size_t const most_rows = std::bit_ceil(std::max<std::size_t>(1, rows));
  std::size_t const most_cols = std::bit_ceil(std::max<std::size_t>(1, cols));
  std::size_t const width = std::min(most_cols, elements / std::min<std::size_t>(tile_rows, most_rows));
  std::size_t const height = std::min(most_rows, elements / width);
  return {.rows = rows, .cols = cols, .tile_rows = static_cast<int>(height), .tile_cols = static_cast<int>(width)};
}

}  // namespace tessera::collective
