/// \file
/// The same tiles as in team_barrier, but each thread keeps one run of neighbours from stage to stage, and threads meet
/// at a split barrier. Between arrival and wait a thread applies the next stage to the interior of its run. Results
/// near the ends of a run need the neighbours' results, or replace what neighbours still read: they follow the wait.

#include "../chain.hpp"

#include <tessera/collective/team/split_barrier.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::stencil_chain {

struct SplitBarrier {
  static constexpr VariantInfo info{.name = "split_barrier",
                                    .level = Level::team,
                                    .summary = "the same, interiors computed between arrival and wait",
                                    .lesson = true};

  template <ExecutionSpace Exec, Floating T>
  class Plan : public TilePlan<Exec, T> {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    using Buffers = ScratchView<T*, Exec>;
    using State = ScratchView<team::SplitBarrierState*, Exec>;

    using TilePlan<Exec, T>::TilePlan;

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& out) const {
      std::size_t const n = in.extent(0), tile = this->tile_;
      StageChain<T> const chain = this->chain_;
      std::size_t const places = tile + 2 * chain.reach();
      Kokkos::parallel_for(
          "tessera::stencil_chain::split_barrier::tile",
          with_scratch(Policy(exec, this->league_, this->threads_),
                       State::shmem_size(1) + Buffers::shmem_size(2 * places)),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            State const state(team.team_scratch(0), 1);
            Buffers const buffers(team.team_scratch(0), 2 * places);
            team::SplitBarrier const barrier(team, state.data());
            std::size_t const begin = team.league_rank() * tile, end = Kokkos::min(n, begin + tile);
            Window const window(begin, end, chain.reach(), n);
            T *from = buffers.data(), *to = from + places;
            std::size_t const run = (window.size() + team.team_size() - 1) / team.team_size();
            std::size_t const own = Kokkos::min(window.hi, window.lo + team.team_rank() * run);
            std::size_t const own_end = Kokkos::min(window.hi, own + run);
            for (std::size_t i = own; i < own_end; ++i) from[i - window.lo] = in(i);
            auto token = barrier.arrive();
            for (int s = 0; s < chain.count(); ++s) {
              Stage<T> const stage = chain.stage(s);
              auto const apply = [&](std::size_t i, std::size_t last) {
                for (; i < last; ++i) to[i - window.lo] = stage(from + (i - window.lo), i, n - 1 - i);
              };
              Part const part = window.part(own, own_end, chain.reach(s + 1), chain.widest());
              apply(part.inner, part.inner_end);
              barrier.wait(token);
              apply(part.first, part.inner);
              apply(part.inner_end, part.last);
              token = barrier.arrive();
              Kokkos::kokkos_swap(from, to);
            }
            barrier.wait(token);
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end),
                                 [&](std::size_t i) { out(i) = from[i - window.lo]; });
            barrier.invalidate(team);  // its barrier also ends the use of scratch
          });
    }
  };
};

VariantRows split_barrier() { return rows<StencilChain, SplitBarrier>(); }

}  // namespace tessera::stencil_chain
