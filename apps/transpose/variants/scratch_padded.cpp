/// \file
/// scratch_tile with one more element in each row of the tile: a column then lies in 32 different banks of scratch, and
/// a warp reads it in one step.

#include "../element_tiles.hpp"
#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::transpose {

struct ScratchPadded {
  static constexpr VariantInfo info{.name = "scratch_padded",
                                    .level = Level::team,
                                    .summary = "the same with a padded tile, 32 x 33: no bank conflicts"};

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
      Kernel{.a = input.a.data(),
             .out = output.out.data(),
             .tiles = tiles_,
             .stride = tiles_.tile_cols + std::max(1, 32 / tiles_.tile_rows)}
          .enqueue("tessera::transpose::scratch_padded::move", exec, threads_);
    }

   private:
    collective::MatrixTiles tiles_;
    int threads_;
  };
};

VariantRows scratch_padded() { return rows<Transpose, ScratchPadded>(); }

}  // namespace tessera::transpose
