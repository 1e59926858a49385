/// \file
/// The classic tiled product. A team makes a square tile of c. It loads one tile of a and one of b into scratch, so
/// that each element is read from memory once per tile instead of once per product; then it moves on along k.

#include "../problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::matmul {

struct TilePerThread {
  static constexpr VariantInfo info{.name = "tile_per_thread",
                                    .level = Level::team,
                                    .summary = "the classic tiles of 16 x 16 in scratch, one thread per element of c",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T const**, Exec> const& b,
                  ArrayOn<T**, Exec> const& c, Matmul::Parameters const& parameters) {
    using Policy = Kokkos::TeamPolicy<Exec>;
    using Sums = ScratchView<Accumulator<T>*, Exec>;
    using Tile = ScratchView<T*, Exec>;
    constexpr int edge = 16, area = edge * edge;
    std::size_t const inner = a.extent(1), tiles_across = tiles_of(c.extent(1), edge);
    int const league = league_of(tiles_of(c.extent(0), edge) * tiles_across);
    Policy const policy(exec, league, kernels::team_size(exec, parameters.team));
    Kokkos::parallel_for(
        "tessera::matmul::tile_per_thread::product",
        with_scratch(policy, 2 * Tile::shmem_size(area) + Sums::shmem_size(area)),
        KOKKOS_LAMBDA(typename Policy::member_type const& team) {
          Tile const tile_a(team.team_scratch(0), area), tile_b(team.team_scratch(0), area);
          Sums const sums(team.team_scratch(0), area);
          std::size_t const row = team.league_rank() / tiles_across * edge;
          std::size_t const col = team.league_rank() % tiles_across * edge;
          auto const elements = Kokkos::TeamThreadRange(team, area);
          Kokkos::parallel_for(elements, [&](int e) { sums(e) = 0; });
          for (std::size_t k = 0; k < inner; k += edge) {
            Kokkos::parallel_for(elements, [&](int e) {
              int const y = e / edge, x = e % edge;
              tile_a(e) = row + y < c.extent(0) && k + x < inner ? a(row + y, k + x) : T(0);
              tile_b(e) = k + y < inner && col + x < c.extent(1) ? b(k + y, col + x) : T(0);
            });
            team.team_barrier();
            Kokkos::parallel_for(elements, [&](int e) {
              int const y = e / edge, x = e % edge;
              for (int i = 0; i < edge; ++i) {
                sums(e) += collective::product(tile_a(y * edge + i), tile_b(i * edge + x));
              }
            });
            team.team_barrier();  // before the tiles are loaded again
          }
          Kokkos::parallel_for(elements, [&](int e) {
            std::size_t const r = row + e / edge, q = col + e % edge;
            if (r < c.extent(0) && q < c.extent(1)) c(r, q) = static_cast<T>(sums(e));
          });
          leave_scratch(team);
        });
  }
};

VariantRows tile_per_thread() { return rows<Matmul, TilePerThread>(); }

}  // namespace tessera::matmul
