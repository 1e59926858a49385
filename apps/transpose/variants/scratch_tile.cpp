/// \file
/// A tile of 32 x 32 elements goes through team scratch, so both matrices are accessed along their rows, one element
/// per lane. On a GPU a whole column of the tile lies in one of the 32 banks of scratch: a warp takes 32 steps to read
/// it (bank conflicts). scratch_padded avoids them.

#include "../element_tiles.hpp"

namespace tessera::transpose {

struct ScratchTile {
  static constexpr VariantInfo info{
      .name = "scratch_tile", .level = Level::team, .summary = "a tile in team scratch, 32 x 32"};

  template <ExecutionSpace Exec, class T>
  using Plan = ElementTilesPlan<Exec, T, false>;
};

VariantRows scratch_tile() { return rows<Transpose, ScratchTile>(); }

}  // namespace tessera::transpose
