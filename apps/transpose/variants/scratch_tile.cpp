/// \file
/// A tile of 32 x 32 elements through team scratch: both sides of memory see whole rows, one element a lane. On a GPU a
/// column of the tile lies in one of the 32 banks of scratch, so that a warp reads it in 32 steps: the price that
/// scratch_padded does not pay.

#include "../element_tiles.hpp"
#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::transpose {

struct ScratchTile {
  static constexpr VariantInfo info{
      .name = "scratch_tile", .level = Level::team, .summary = "a tile in team scratch, 32 x 32"};

  template <ExecutionSpace Exec, class T>
  using Plan = ElementTilesPlan<Exec, T, false>;
};

VariantRows scratch_tile() { return rows<Transpose, ScratchTile>(); }

}  // namespace tessera::transpose
