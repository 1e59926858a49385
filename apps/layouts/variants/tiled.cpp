/// \file
/// Tile after tile, and in a tile row after row: rows and columns that are near each other are near in memory, too. Kokkos
/// has no such layout; an operator() is all that it takes. Tiles at the edges are whole, their rest is 0.

#include <bit>

#include "../fill.hpp"

namespace tessera::layouts {

namespace {

/// (row, col) of tiles of 2^shift x 2^shift, `across` of them side by side.
template <class T>
struct TileAfterTile {
  T* data;
  std::size_t across;
  int shift;

  [[nodiscard]] KOKKOS_FUNCTION T& operator()(std::size_t row, std::size_t col) const {
    std::size_t const inside = (std::size_t{1} << shift) - 1;
    std::size_t const tile = (row >> shift) * across + (col >> shift);
    return data[(((tile << shift) + (row & inside)) << shift) + (col & inside)];
  }
};

}  // namespace

struct Tiled {
  static constexpr VariantInfo info{
      .name = "tiled", .level = Level::range, .summary = "tiles of --side x --side, one after the other"};

  static constexpr char const* label = "tessera::layouts::tiled::fill";
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
