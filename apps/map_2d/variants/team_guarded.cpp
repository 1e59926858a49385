/// \file
/// Tiles of fixed extents, one per team, over a matrix of any extents: the grid of teams is rounded up, so there may be
/// more indices than elements, and each index guards its own row and column. The book's "2D blocks" for any size.

#include <cstddef>

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

struct TeamGuarded {
  static constexpr VariantInfo info{.name = "team_guarded",
                                    .level = Level::team,
                                    .summary = "one tile of fixed extents per team, every row and column guarded",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;

    // 1024 elements on a GPU, with a warp on each row; on hosts 8192, to make a team worth starting.
    Plan(Exec const& exec, InputOn<Map2d, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)),
          tile_rows_(input.parameters.tile > 0 ? static_cast<int>(input.parameters.tile) : 32),
          tile_cols_(input.parameters.tile > 0 ? static_cast<int>(input.parameters.tile) : (is_gpu<Exec> ? 32 : 256)),
          across_(league_of(tiles_of(input.a.extent(1), static_cast<std::size_t>(tile_cols_)))),
          league_(league_of(tiles_of(input.a.extent(0), static_cast<std::size_t>(tile_rows_)) *
                            static_cast<std::size_t>(across_))) {}

    void operator()(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T**, Exec> const& out,
                    Parameters const& parameters) const {
      if (a.size() == 0) return;
      AddConstant<T> const add{static_cast<T>(parameters.c)};
      int const tile_rows = tile_rows_;
      int const tile_cols = tile_cols_;
      int const across = across_;
      Kokkos::parallel_for(
          "tessera::map_2d::team_guarded::add", Policy(exec, league_, threads_),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            std::size_t const first_row = static_cast<std::size_t>(team.league_rank() / across) * tile_rows;
            std::size_t const first_col = static_cast<std::size_t>(team.league_rank() % across) * tile_cols;
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile_rows * tile_cols), [&](int i) {
              std::size_t const row = first_row + i / tile_cols;
              std::size_t const col = first_col + i % tile_cols;
              if (row < a.extent(0) && col < a.extent(1)) out(row, col) = add(a(row, col));
            });
          });
    }

   private:
    int threads_;
    int tile_rows_;
    int tile_cols_;
    int across_;  // tiles along a row
    int league_;
  };
};

VariantRows team_guarded() { return rows<Map2d, TeamGuarded>(); }

}  // namespace tessera::map_2d
