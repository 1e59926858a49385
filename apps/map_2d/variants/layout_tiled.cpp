/// \file
/// The same memory, indexed as if it were a matrix in tiles of 8 x 8, tile after tile, with as many columns of tiles as
/// the matrix' columns fill. (row, col) is then another element than in a matrix stored by rows; a map gives the same
/// result. A warp along a row of tiles reads 8 elements from each tile, a sector of floats, while a row of the matrix
/// is contiguous.
///
/// Example, tiles of 2 x 2, a of [3, 4]: two rows of two tiles; (0, 0) (0, 1) (0, 2) are elements 0 1 4, and (2, 0) is
/// element 8. The second of the two lower tiles, from 12 on, has no element.

#include "../problem.hpp"

#include <tessera/core/tile_layout.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

struct LayoutTiled {
  static constexpr VariantInfo info{
      .name = "layout_tiled", .level = Level::range, .summary = "the same memory as tiles of 8 x 8, tile after tile"};

  static constexpr int shift = 3;
  static constexpr std::size_t side = std::size_t{1} << shift;

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T**, Exec> const& out,
                  Parameters const& parameters) {
    AddConstant<T> const add{static_cast<T>(parameters.c)};
    std::size_t const across = std::max<std::size_t>(1, a.extent(1) / side);
    auto const tiles = kernels::mdrange_tiles<Exec>(tiles_of(a.size(), across * side * side) * side, across * side);
    if (a.size() == 0) return;
    TileAfterTile<T const> const from{a.data(), across, shift};
    TileAfterTile<T> const to{out.data(), across, shift};
    std::size_t const elements = a.size();
    Kokkos::parallel_for(
        "tessera::map_2d::layout_tiled::add", kernels::columns_first<std::int64_t>(exec, tiles),
        KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) {
          // The last row of tiles may be incomplete.
          if (from.place(row, col) < elements) to(row, col) = add(from(row, col));
        });
  }
};

VariantRows layout_tiled() { return rows<Map2d, LayoutTiled>(); }

}  // namespace tessera::map_2d
