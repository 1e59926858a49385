/// \file
/// scratch_tile with one more element in each row of the tile: the elements of a column then lie in 32 different banks
/// of scratch, and a warp reads them in one step, without bank conflicts.

#include "../element_tiles.hpp"

namespace tessera::transpose {

struct ScratchPadded {
  static constexpr VariantInfo info{.name = "scratch_padded",
                                    .level = Level::team,
                                    .summary = "as scratch_tile, padded to 32 x 33: no bank conflicts"};

  template <ExecutionSpace Exec, class T>
  using Plan = ElementTilesPlan<Exec, T, true>;
};

VariantRows scratch_padded() { return rows<Transpose, ScratchPadded>(); }

}  // namespace tessera::transpose
