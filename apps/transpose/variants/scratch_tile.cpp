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
  class Plan {
   public:
    using Kernel = ElementTiles<Exec, T>;

    Plan(Exec const& exec, InputOn<Transpose, Exec, T> const& input)
        : tiles_(Kernel::tiles_of(input.a.extent(0), input.a.extent(1))),
          threads_(kernels::team_size(exec, input.parameters.team)) {
      (void)tiles_.league_size();  // may be too many
    }

    void operator()(Exec const& exec, InputOn<Transpose, Exec, T> const& input,
                    OutputOn<Transpose, Exec, T> const& output) const {
      Kernel{.a = input.a.data(), .out = output.out.data(), .tiles = tiles_, .stride = tiles_.tile_cols}.enqueue(
          "tessera::transpose::scratch_tile::move", exec, threads_);
    }

   private:
    collective::MatrixTiles tiles_;
    int threads_;
  };
};

VariantRows scratch_tile() { return rows<Transpose, ScratchTile>(); }

}  // namespace tessera::transpose
