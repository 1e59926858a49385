/// \file
/// tiled with two pairs of tiles: the next slice is loaded from memory into registers while the current slice is
/// multiplied, and a slice needs one barrier instead of two. The kernel is overlapped_product.hpp. On a host nothing
/// would overlap, and the row is skipped.

#include <string>

#include "../overlapped_product.hpp"
#include "../square_tiles.hpp"

namespace tessera::matmul {

struct TiledOverlap {
  static constexpr VariantInfo info{.name = "tiled_overlap",
                                    .level = Level::team,
                                    .summary = "as tiled, the next tiles loaded while these are multiplied"};

  template <ExecutionSpace Exec, class T>
  struct Plan
      : SquareTilesPlan<Exec, T, OverlappedProduct<Exec, T, lane::On<Exec, tile_lanes<Exec>>, rows_of_thread<Exec>>> {
    Plan(Exec const& exec, InputOn<Matmul, Exec, T> const& input)
        : Plan::SquareTilesPlan(exec, input, "tessera::matmul::tiled_overlap") {
      if (!is_gpu<Exec>) {
        throw Skip("loads that overlap multiply-adds (a thread of " + std::string(space_name<Exec>()) +
                   " copies tiles and multiplies one after the other, as tiled does)");
      }
    }
  };
};

VariantRows tiled_overlap() { return rows<Matmul, TiledOverlap>(); }

}  // namespace tessera::matmul
