// A matrix in tiles: each element belongs to exactly one tile, for every shape and every order of tiles. A team that
// loads a tile fills elements outside the matrix and does not read them.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/team/matrix_tile.hpp>
#include <tessera/core/tiles.hpp>

#include "guarded_array.hpp"

namespace tessera::test {
namespace {

using collective::MatrixTiles;

std::string text_of(MatrixTiles const& tiles) {
  return std::to_string(tiles.rows) + " x " + std::to_string(tiles.cols) + " in " + std::to_string(tiles.tile_rows) +
         " x " + std::to_string(tiles.tile_cols) + ", band " + std::to_string(tiles.band);
}

void expect_each_element_once(MatrixTiles const& tiles) {
  std::vector<int> covered(tiles.rows * tiles.cols);
  int const league = league_of(tiles.count());
  for (int tile = 0; tile < league; ++tile) {
    auto const place = tiles.place(static_cast<std::size_t>(tile));
    ASSERT_GT(place.row_count, 0) << text_of(tiles);
    ASSERT_GT(place.col_count, 0) << text_of(tiles);
    ASSERT_LE(place.row_count, tiles.tile_rows) << text_of(tiles);
    ASSERT_LE(place.col_count, tiles.tile_cols) << text_of(tiles);
    for (int r = 0; r < place.row_count; ++r) {
      for (int c = 0; c < place.col_count; ++c) {
        ASSERT_LT(place.row + r, tiles.rows) << text_of(tiles);
        ASSERT_LT(place.col + c, tiles.cols) << text_of(tiles);
        ++covered[(place.row + r) * tiles.cols + place.col + c];
      }
    }
  }
  for (int const times : covered) ASSERT_EQ(times, 1) << text_of(tiles);
}

TEST(MatrixTiles, CoverEachElementOnce) {
  for (std::size_t const rows : {0, 1, 2, 5, 7, 16, 33}) {
    for (std::size_t const cols : {0, 1, 3, 8, 13, 64}) {
      for (int const band : {1, 2, 3, 8}) {
        expect_each_element_once({.rows = rows, .cols = cols, .tile_rows = 4, .tile_cols = 3, .band = band});
        expect_each_element_once({.rows = rows, .cols = cols, .tile_rows = 1, .tile_cols = 8, .band = band});
      }
      expect_each_element_once(collective::fitted_tiles(rows, cols, 4, 4));
      expect_each_element_once(collective::fitted_tiles(rows, cols, 8, 32));
    }
  }
}

// The examples in the headers.
TEST(MatrixTiles, OrderOfTiles) {
  MatrixTiles tiles{.rows = 2, .cols = 3};
  EXPECT_EQ(tiles.place(1).row, 0u);
  EXPECT_EQ(tiles.place(1).col, 1u);
  EXPECT_EQ(tiles.place(3).row, 1u);
  EXPECT_EQ(tiles.place(3).col, 0u);
  tiles.band = 2;
  EXPECT_EQ(tiles.place(1).row, 1u);
  EXPECT_EQ(tiles.place(1).col, 0u);
  EXPECT_EQ(tiles.place(2).row, 0u);
  EXPECT_EQ(tiles.place(2).col, 1u);
}

TEST(MatrixTiles, FittedTilesKeepTheirElements) {
  auto const expect_shape = [](std::size_t rows, std::size_t cols, int height, int width) {
    MatrixTiles const tiles = collective::fitted_tiles(rows, cols, 32, 32);
    EXPECT_EQ(tiles.tile_rows, height) << rows << " x " << cols;
    EXPECT_EQ(tiles.tile_cols, width) << rows << " x " << cols;
  };
  expect_shape(1, 5000, 1, 1024);
  expect_shape(5000, 3, 256, 4);
  expect_shape(20, 5000, 32, 32);
  expect_shape(5, 6, 8, 8);
  expect_shape(std::size_t{1} << 24, 1, 1024, 1);
}

TEST(MatrixTiles, TooManyTeamsAreSkipped) {
  MatrixTiles const tiles{.rows = std::size_t{1} << 20, .cols = std::size_t{1} << 20};
  EXPECT_THROW((void)league_of(tiles.count()), Skip);
}

constexpr int fill = -7;
constexpr int height = 3, width = 4, stride = 5;

// One team loads a tile to memory.
template <class Member>
struct LoadTile {
  team::Matrix<int const> matrix;
  std::size_t row;
  std::size_t col;
  int* tile;

  void operator()(Member const& member) const {
    team::load_tile(member, matrix, row, col, height, width, fill, tile, stride);
  }
};

TEST(MatrixTile, LoadsWhatIsInsideAndFillsTheRest) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  using Policy = Kokkos::TeamPolicy<Host>;
  GuardedArray<int> memory(64);
  GuardedArray<int> tile_memory(64);
  for (int const threads : {1, std::min(3, Host().concurrency())}) {
    for (std::size_t const rows : {0, 1, 3, 5}) {
      for (std::size_t const cols : {0, 1, 4, 7}) {
        int* const data = memory.last(rows * cols);
        for (std::size_t i = 0; i < rows * cols; ++i) data[i] = 1000 + static_cast<int>(i);
        for (std::size_t const row : {0, 1, 4, 6}) {
          for (std::size_t const col : {0, 2, 6, 9}) {
            int* const tile = tile_memory.last(height * stride);
            for (int i = 0; i < height * stride; ++i) tile[i] = 5;
            Kokkos::parallel_for("tessera::tests::load_tile", Policy(1, threads),
                                 LoadTile<Policy::member_type>{{data, rows, cols}, row, col, tile});
            Kokkos::fence();
            for (int r = 0; r < height; ++r) {
              for (int c = 0; c < stride; ++c) {
                bool const inside = row + r < rows && col + c < cols;
                int const value = inside ? 1000 + static_cast<int>((row + r) * cols + col + c) : fill;
                // Memory between the rows of the tile must stay unchanged.
                ASSERT_EQ(tile[r * stride + c], c < width ? value : 5)
                    << rows << " x " << cols << " from " << row << ", " << col << ": " << r << ", " << c;
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::test
