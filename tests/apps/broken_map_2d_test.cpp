// Wrong maps of matrices must be caught: exchanged axes, tiles without masks, mixed-up layouts. A square matrix does
// not show half of them.

#include "broken_rows.hpp"

#include "../../apps/map_2d/problem.hpp"

namespace tessera::map_2d {
namespace {

// Index i of `count` means (i / across, i % across); the strides say where that is in memory.
template <class T>
struct AddAt {
  T const* a;
  T* out;
  AddConstant<T> add;
  std::size_t n;
  std::size_t across;
  std::size_t in_down;
  std::size_t in_across;
  std::size_t out_down;
  std::size_t out_across;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const y = i / across;
    std::size_t const x = i % across;
    std::size_t const from = y * in_down + x * in_across;
    // Reads stay inside the array: only the writes are wrong.
    out[y * out_down + x * out_across] = from < n ? add(a[from]) : T(1);
  }
};

template <class Exec, class T>
void add_at(Exec const& exec, InputOn<Map2d, Exec, T> const& in, OutputOn<Map2d, Exec, T> const& out, std::size_t down,
            std::size_t across, std::size_t in_down, std::size_t in_across, std::size_t out_down,
            std::size_t out_across) {
  Kokkos::parallel_for("tessera::tests::broken_map_2d", over(exec, down * across),
                       AddAt<T>{in.a.data(),
                                out.out.data(),
                                {static_cast<T>(in.parameters.c)},
                                in.a.size(),
                                across,
                                in_down,
                                in_across,
                                out_down,
                                out_across});
}

enum class GridMistake {
  none,
  no_guard_of_rows,
  no_guard_of_columns,
  tiles_down_first,  // the team's number runs down columns instead of along the grid's rows
  rows_of_tile       // rows of tiles begin a tile's columns apart, which is right only for square tiles
};

// One team per tile of tile_rows x tile_cols, as in the variant `team_guarded`.
template <class Exec, class T>
struct BrokenGrid {
  using Policy = Kokkos::TeamPolicy<Exec>;
  GridMistake mistake;
  T const* a;
  T* out;
  AddConstant<T> add;
  int rows;
  int cols;
  int tile_rows;
  int tile_cols;
  KOKKOS_FUNCTION void operator()(typename Policy::member_type const& team) const {
    int const across = (cols + tile_cols - 1) / tile_cols;
    bool const swapped = mistake == GridMistake::tiles_down_first;
    int const tile_row = swapped ? team.league_rank() % across : team.league_rank() / across;
    int const tile_col = swapped ? team.league_rank() / across : team.league_rank() % across;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile_rows * tile_cols), [&](int i) {
      int const row = tile_row * (mistake == GridMistake::rows_of_tile ? tile_cols : tile_rows) + i / tile_cols;
      int const col = tile_col * tile_cols + i % tile_cols;
      bool const row_fits = row < rows || mistake == GridMistake::no_guard_of_rows;
      bool const col_fits = col < cols || mistake == GridMistake::no_guard_of_columns;
      int const at = row * cols + col;
      // Reads stay inside the array: only the writes are wrong. A column past the end is the first of the next row,
      // where the same value is right: only the last row shows the mistake.
      if (row_fits && col_fits) out[at] = at < rows * cols ? add(a[at]) : T(1);
    });
  }
};

template <GridMistake mistake>
struct BrokenGrids {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Map2d, Exec, T> const& in, OutputOn<Map2d, Exec, T> const& out) const {
    using Kernel = BrokenGrid<Exec, T>;
    auto const rows = static_cast<int>(in.a.extent(0));
    auto const cols = static_cast<int>(in.a.extent(1));
    auto const tile = static_cast<int>(in.parameters.tile);
    int const tile_rows = mistake == GridMistake::rows_of_tile ? tile - 1 : tile;
    typename Kernel::Policy const policy(exec, (rows + tile_rows - 1) / tile_rows * ((cols + tile - 1) / tile), 1);
    Kokkos::parallel_for(
        "tessera::tests::broken_map_2d", policy,
        Kernel{mistake, in.a.data(), out.out.data(), {static_cast<T>(in.parameters.c)}, rows, cols, tile_rows, tile});
  }
};

// Puzzle P7's 5 x 5 in tiles of 3 x 3, and 7 x 13 in the same tiles.
ParameterMap const five_rows{{"rows", std::int64_t{5}}, {"tile", std::int64_t{3}}};
ParameterMap const seven_rows_in_tiles{{"rows", std::int64_t{7}}, {"tile", std::int64_t{3}}};

TEST(BrokenMap2d, GridIsRightWithoutAMistake) {
  testing::expect_right<Map2d>(BrokenGrids<GridMistake::none>{}, 25, five_rows);
}
TEST(BrokenMap2d, NoGuardOfRows) {
  testing::expect_caught<Map2d>(BrokenGrids<GridMistake::no_guard_of_rows>{}, 25, five_rows, "past the end");
}
TEST(BrokenMap2d, NoGuardOfColumns) {
  testing::expect_caught<Map2d>(BrokenGrids<GridMistake::no_guard_of_columns>{}, 25, five_rows, "past the end");
}
TEST(BrokenMap2d, RowsOfTile) {
  testing::expect_caught<Map2d>(BrokenGrids<GridMistake::rows_of_tile>{}, 25, five_rows, "first");
}
TEST(BrokenMap2d, TilesDownFirst) {
  testing::expect_caught<Map2d>(BrokenGrids<GridMistake::tiles_down_first>{}, 91, seven_rows_in_tiles, "first");
}

// A 7 x 13 matrix.
ParameterMap const seven_rows{{"rows", std::int64_t{7}}};

TEST(BrokenMap2d, SwappedAxes) {
  // Row runs over columns and column over rows.
  testing::expect_caught<Map2d>(
      []<class Exec, class T>(Exec const& exec, InputOn<Map2d, Exec, T> const& in,
                              OutputOn<Map2d, Exec, T> const& out) {
        std::size_t const rows = in.a.extent(0);
        std::size_t const cols = in.a.extent(1);
        // Guarded by the wrong extents: only the smaller square is written.
        std::size_t const side = rows < cols ? rows : cols;
        add_at(exec, in, out, side, side, cols, 1, cols, 1);
      },
      91, seven_rows, "first");
}
TEST(BrokenMap2d, WrongPitch) {
  // Writes to row * rows + col.
  testing::expect_caught<Map2d>(
      []<class Exec, class T>(Exec const& exec, InputOn<Map2d, Exec, T> const& in,
                              OutputOn<Map2d, Exec, T> const& out) {
        std::size_t const rows = in.a.extent(0);
        add_at(exec, in, out, rows, in.a.extent(1), rows, 1, rows, 1);
      },
      91, seven_rows, "first");
}
TEST(BrokenMap2d, MixedLayouts) {
  // Reads a by rows, writes out by columns.
  testing::expect_caught<Map2d>(
      []<class Exec, class T>(Exec const& exec, InputOn<Map2d, Exec, T> const& in,
                              OutputOn<Map2d, Exec, T> const& out) {
        std::size_t const rows = in.a.extent(0);
        std::size_t const cols = in.a.extent(1);
        add_at(exec, in, out, rows, cols, cols, 1, 1, rows);
      },
      91, seven_rows, "first");
}
TEST(BrokenMap2d, TilesUnmasked) {
  // Tiles of 8 x 8, no mask at the edges.
  testing::expect_caught<Map2d>(
      []<class Exec, class T>(Exec const& exec, InputOn<Map2d, Exec, T> const& in,
                              OutputOn<Map2d, Exec, T> const& out) {
        std::size_t const cols = in.a.extent(1);
        // A write past the right edge lands in the next row, where the same value is right: only the last row shows the
        // mistake.
        add_at(exec, in, out, in.a.extent(0), (cols + 7) / 8 * 8, cols, 1, cols, 1);
      },
      91, seven_rows, "past the end");
}
TEST(BrokenMap2d, WholeTilesOnly) {
  // Launches cols / 8 tiles: the right edge is left out.
  testing::expect_caught<Map2d>(
      []<class Exec, class T>(Exec const& exec, InputOn<Map2d, Exec, T> const& in,
                              OutputOn<Map2d, Exec, T> const& out) {
        std::size_t const cols = in.a.extent(1);
        add_at(exec, in, out, in.a.extent(0), cols / 8 * 8, cols, 1, cols, 1);
      },
      91, seven_rows, "first");
}

}  // namespace
}  // namespace tessera::map_2d
