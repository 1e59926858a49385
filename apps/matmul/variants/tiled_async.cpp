/// \file
/// tiled with an asynchronous copy into scratch: a lane starts the copy of its part of the next slice and multiplies
/// meanwhile. Elements in flight take no registers and no store instructions. The kernel is async_product.hpp. The
/// variant needs CUDA and compute capability 8.0 or higher (cp.async); elsewhere the row is skipped.

#include <string>

#include "../async_product.hpp"
#include "../square_tiles.hpp"

#include <tessera/collective/async_copy.hpp>

namespace tessera::matmul {

struct TiledAsync {
  static constexpr VariantInfo info{.name = "tiled_async",
                                    .level = Level::team,
                                    .summary = "as tiled, tiles filled by asynchronous copies (CUDA's cp.async)"};

  template <ExecutionSpace Exec, class T>
  struct Plan
      : SquareTilesPlan<
            Exec, T,
            AsyncProduct<Exec, T, lane::On<Exec, tile_lanes<Exec>>, rows_of_thread<Exec>, collective::HardwareCopies>> {
    Plan(Exec const& exec, InputOn<Matmul, Exec, T> const& input)
        : Plan::SquareTilesPlan(exec, input, "tessera::matmul::tiled_async") {
      if (!collective::has_async_copies(exec)) {
        throw Skip("no asynchronous copies into scratch (CUDA has them from compute capability 8.0; " +
                   std::string(space_name<Exec>()) + " here does not)");
      }
    }
  };
};

VariantRows tiled_async() { return rows<Matmul, TiledAsync>(); }

}  // namespace tessera::matmul
