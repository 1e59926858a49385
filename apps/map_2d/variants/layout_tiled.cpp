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

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    static constexpr int shift = 3;
    static constexpr std::size_t side = std::size_t{1} << shift;

    Plan(Exec const&, InputOn<Map2d, Exec, T> const& input)
        : add_{static_cast<T>(input.parameters.c)},
          across_(std::max<std::size_t>(1, input.a.extent(1) / side)),
          tiles_(kernels::mdrange_tiles<Exec>(tiles_of(input.a.size(), across_ * side * side) * side, across_ * side)) {
    }

    void operator()(Exec const& exec, InputOn<Map2d, Exec, T> const& input,
                    OutputOn<Map2d, Exec, T> const& output) const {
      if (input.a.size() == 0) return;
      TileAfterTile<T const> const a{input.a.data(), across_, shift};
      TileAfterTile<T> const out{output.out.data(), across_, shift};
      std::size_t const elements = input.a.size();
      auto const add = add_;
      Kokkos::parallel_for(
          "tessera::map_2d::layout_tiled::add", kernels::columns_first<std::int64_t>(exec, tiles_),
          KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) {
            // The last row of tiles may be incomplete.
            if (a.place(row, col) < elements) out(row, col) = add(a(row, col));
          });
    }

   private:
    AddConstant<T> add_;
    std::size_t across_;  ///< tiles
    collective::MatrixTiles tiles_;
  };
};

VariantRows layout_tiled() { return rows<Map2d, LayoutTiled>(); }

}  // namespace tessera::map_2d
