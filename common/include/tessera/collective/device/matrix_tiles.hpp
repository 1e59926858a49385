#pragma once
/// \file
/// A matrix cut into tiles, one a team: which tile is whose.

#include <Kokkos_Macros.hpp>

#include <cstddef>

#include <tessera/collective/device/team_shape.hpp>

namespace tessera::device {

/// Tiles of `tile_rows` x `tile_cols` of a `rows` x `cols` matrix; those at the bottom and right edge may be short.
/// Neighbouring teams take neighbouring tiles of one row of tiles.
struct MatrixTiles {
  std::size_t rows = 0;
  std::size_t cols = 0;
  int tile_rows = 1;
  int tile_cols = 1;

  /// First element of a tile, and how much of it lies in the matrix.
  struct Place {
    std::size_t row;
    std::size_t col;
    int row_count;
    int col_count;
  };

  [[nodiscard]] KOKKOS_FUNCTION std::size_t across() const { return (cols + tile_cols - 1) / tile_cols; }
  [[nodiscard]] KOKKOS_FUNCTION std::size_t down() const { return (rows + tile_rows - 1) / tile_rows; }

  [[nodiscard]] KOKKOS_FUNCTION Place place(std::size_t tile) const {
    std::size_t const per_row = across();
    std::size_t const row = tile / per_row * tile_rows;
    std::size_t const col = tile % per_row * tile_cols;
    return {.row = row,
            .col = col,
            .row_count = rows - row < static_cast<std::size_t>(tile_rows) ? static_cast<int>(rows - row) : tile_rows,
            .col_count = cols - col < static_cast<std::size_t>(tile_cols) ? static_cast<int>(cols - col) : tile_cols};
  }

  /// Teams of a launch. Throws Skip if a league cannot have so many.
  [[nodiscard]] int league_size() const { return league_of(across() * down()); }
};

}  // namespace tessera::device
