/// \file
/// A team loads a tile, and on both sides the halo of all stages together. It applies all stages in scratch, in two
/// buffers in turn, with a barrier after each. A stage's results lack as many elements at either side as it reaches;
/// after the last stage the tile is left.

#include "../chain.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::stencil_chain {

struct TeamBarrier {
  static constexpr VariantInfo info{.name = "team_barrier",
                                    .level = Level::team,
                                    .summary = "all stages of a tile in scratch, two buffers in turn, team barriers",
                                    .lesson = true};

  template <ExecutionSpace Exec, Floating T>
  class Plan : public TilePlan<Exec, T> {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    using Buffers = ScratchView<T*, Exec>;

    using TilePlan<Exec, T>::TilePlan;

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& out) const {
      std::size_t const n = in.extent(0), tile = this->tile_;
      StageChain<T> const chain = this->chain_;
      std::size_t const places = tile + 2 * chain.reach();
      Kokkos::parallel_for(
          "tessera::stencil_chain::team_barrier::tile",
          with_scratch(Policy(exec, this->league_, this->threads_), Buffers::shmem_size(2 * places)),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            Buffers const buffers(team.team_scratch(0), 2 * places);
            std::size_t const begin = team.league_rank() * tile;
            std::size_t const end = Kokkos::min(n, begin + tile);
            Window const window(begin, end, chain.reach(), n);
            T* from = buffers.data();
            T* to = from + places;
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, window.lo, window.hi),
                                 [&](std::size_t i) { from[i - window.lo] = in(i); });
            team.team_barrier();
            for (int s = 0; s < chain.count(); ++s) {
              Stage<T> const stage = chain.stage(s);
              int const reached = chain.reach(s + 1);
              Kokkos::parallel_for(
                  Kokkos::TeamThreadRange(team, window.first(reached), window.last(reached)),
                  [&](std::size_t i) { to[i - window.lo] = stage(from + (i - window.lo), i, n - 1 - i); });
              team.team_barrier();
              Kokkos::kokkos_swap(from, to);
            }
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end),
                                 [&](std::size_t i) { out(i) = from[i - window.lo]; });
            leave_scratch(team);
          });
    }
  };
};

VariantRows team_barrier() { return rows<StencilChain, TeamBarrier>(); }

}  // namespace tessera::stencil_chain
