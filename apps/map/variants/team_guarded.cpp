/// \file
/// Teams of a fixed width over the elements: the last team may have more threads than elements, so each thread guards
/// its own index. It is the book's "guards" puzzle for any size; with --tile 4 it is the "blocks" puzzle, one team per
/// block.

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map {

struct TeamGuarded {
  static constexpr VariantInfo info{.name = "team_guarded",
                                    .level = Level::team,
                                    .summary = "teams of fixed width, every index guarded",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    // On a GPU the size of a CUDA block; enough work per team on hosts.
    static constexpr int default_tile = is_gpu<Exec> ? 1024 : 8192;

    Plan(Exec const& exec, InputOn<Map, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)),
          tile_(input.parameters.tile > 0 ? static_cast<int>(input.parameters.tile) : default_tile),
          league_(league_of(tiles_of(input.a.extent(0), static_cast<std::size_t>(tile_)))) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T*, Exec> const& out,
                    Parameters const& parameters) const {
      using Policy = Kokkos::TeamPolicy<Exec>;
      AddConstant<T> const add{static_cast<T>(parameters.c)};
      int const tile = tile_;
      Kokkos::parallel_for(
          "tessera::map::team_guarded::add", Policy(exec, league_, threads_),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * tile;
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile), [&](int t) {
              std::size_t const i = begin + t;
              if (i < a.extent(0)) out(i) = add(a(i));
            });
          });
    }

   private:
    int threads_;
    int tile_;
    int league_;
  };
};

VariantRows team_guarded() { return rows<Map, TeamGuarded>(); }

}  // namespace tessera::map
