/// \file
/// Every tile goes through team scratch: each element is loaded by one thread and used by another (the mirrored one),
/// so a barrier is needed in between. A map gains nothing from scratch, but this is the smallest kernel in which a
/// missing barrier shows.

#include "../problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map {

struct Scratch {
  static constexpr VariantInfo info{.name = "scratch",
                                    .level = Level::team,
                                    .summary = "tiles staged through team scratch, with a barrier",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    using Tile = ScratchView<T*, Exec>;

    Plan(Exec const& exec, InputOn<Map, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)),
          tile_(kernels::scratch_tile<Exec>(input.parameters.tile, sizeof(T), 0)),
          league_(league_of(tiles_of(input.a.extent(0), static_cast<std::size_t>(tile_)))) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T*, Exec> const& out,
                    Parameters const& parameters) const {
      AddConstant<T> const add{static_cast<T>(parameters.c)};
      int const tile = tile_;
      Policy const policy(exec, league_, threads_);
      Kokkos::parallel_for(
          "tessera::map::scratch::add", with_scratch(policy, Tile::shmem_size(tile)),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            Tile const staged(team.team_scratch(0), tile);
            std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * tile;
            int const count = static_cast<int>(Kokkos::min<std::size_t>(tile, a.extent(0) - begin));
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int t) { staged(t) = a(begin + t); });
            team.team_barrier();
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int t) {
              int const mirrored = count - 1 - t;
              out(begin + mirrored) = add(staged(mirrored));
            });
            leave_scratch(team);
          });
    }

   private:
    int threads_;
    int tile_;
    int league_;
  };
};

VariantRows scratch() { return rows<Map, Scratch>(); }

}  // namespace tessera::map
