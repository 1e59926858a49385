/// \file
/// Tile after tile, and row after row within a tile: elements in near rows and near columns are also near in memory.
/// Kokkos has no tiled layout, but a class with an operator() (core/tile_layout.hpp) suffices. Tiles at the edges are
/// whole; places without an element are 0.

#include <bit>

#include "../fill.hpp"

#include <tessera/core/tile_layout.hpp>
#include <tessera/core/tiles.hpp>

namespace tessera::layouts {

struct Tiled {
  static constexpr VariantInfo info{
      .name = "tiled", .level = Level::range, .summary = "tiles of --side x --side, one after the other"};

  static constexpr std::size_t field = 3;
  [[nodiscard]] static Shape padded(std::size_t rows, std::size_t cols, Parameters const& parameters) {
    auto const side = static_cast<std::size_t>(parameters.side);
    return {tiles_of(rows, side) * side, tiles_of(cols, side) * side};
  }
  template <class Memory, class T>
  [[nodiscard]] static auto over(T* data, Shape const& padded, Parameters const& parameters) {
    auto const side = static_cast<std::size_t>(parameters.side);
    return TileAfterTile<T>{data, padded[1] / side, std::countr_zero(side)};
  }

  template <ExecutionSpace Exec, class T>
  using Plan = FillPlan<Exec, T, Tiled>;
};

VariantRows tiled() { return rows<Layouts, Tiled>(); }

}  // namespace tessera::layouts
