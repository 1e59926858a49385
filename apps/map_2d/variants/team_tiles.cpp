/// \file
/// One tile of the matrix per team: its threads take pieces of the tile's rows, and their lanes take neighbouring
/// columns. Tiles are as wide as the rows allow, so that one row of many columns and one column of many rows both fill
/// their teams; with --tile N they are N x N. The tile knows how much of it lies in the matrix, so no index needs a
/// guard (unlike in team_guarded).

#include <algorithm>
#include <cstddef>

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

struct TeamTiles {
  static constexpr VariantInfo info{
      .name = "team_tiles", .level = Level::team, .summary = "one tile per team, a piece of a row per thread"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    // Four columns per lane on a GPU; enough work per team on a host.
    static constexpr int tile = is_gpu<Exec> ? 4096 : 8192;
    static constexpr int piece = is_gpu<Exec> ? 128 : 2048;

    Plan(Exec const& exec, InputOn<Map2d, Exec, T> const& input)
        : tiles_(tiles_for(input)),
          lanes_(kernels::lanes_for<Exec>(std::min(input.a.extent(1), static_cast<std::size_t>(tiles_.tile_cols)))),
          threads_(kernels::team_size(exec, input.parameters.team, lanes_)),
          league_(league_of(tiles_.count())) {}

    void operator()(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T**, Exec> const& out,
                    Parameters const& parameters) const {
      AddConstant<T> const add{static_cast<T>(parameters.c)};
      auto const tiles = tiles_;
      Kokkos::parallel_for(
          "tessera::map_2d::team_tiles::add", Policy(exec, league_, threads_, lanes_),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            kernels::for_each_row_piece(
                team, tiles.place(team.league_rank()), piece, [&](std::size_t row, std::size_t col, int count) {
                  Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, count),
                                       [&](int i) { out(row, col + i) = add(a(row, col + i)); });
                });
          });
    }

   private:
    [[nodiscard]] static collective::MatrixTiles tiles_for(InputOn<Map2d, Exec, T> const& input) {
      auto const side = static_cast<int>(input.parameters.tile);
      if (side == 0) return kernels::row_tiles(input.a.extent(0), input.a.extent(1), tile);
      return {.rows = input.a.extent(0), .cols = input.a.extent(1), .tile_rows = side, .tile_cols = side};
    }

    collective::MatrixTiles tiles_;
    int lanes_;
    int threads_;
    int league_;
  };
};

VariantRows team_tiles() { return rows<Map2d, TeamTiles>(); }

}  // namespace tessera::map_2d
