/// \file
/// A pipeline of roles: the threads of a team are split into groups, one per stage. A team goes through a chunk in
/// tiles. While the first group makes its stage of a tile, the next one takes the results that the first left in the
/// step before. Every group leaves its results in two buffers in turn, so one barrier per step is enough.

#include "../chain.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::stencil_chain {

struct Roles {
  static constexpr VariantInfo info{.name = "roles",
                                    .level = Level::team,
                                    .summary = "a group of threads per stage, consecutive tiles as a pipeline",
                                    .lesson = true};

  template <ExecutionSpace Exec, Floating T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    using Buffers = ScratchView<T*, Exec>;

    Plan(Exec const& exec, InputOn<StencilChain, Exec, T> const& input)
        : chain_(input.parameters),
          threads_(threads_of_roles(exec, input.parameters.team, chain_.count())),
          tile_(kernels::scratch_tile<Exec>(input.parameters.tile, 2 * chain_.count() * sizeof(T),
                                            4 * chain_.count() * chain_.widest() * sizeof(T))),
          chunks_(kernels::chunks_of(exec, input.in.extent(0), tile_, threads_)) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& out) const {
      if (chunks_.n == 0) return;
      StageChain<T> const chain = chain_;
      kernels::Chunks const chunks = chunks_;
      std::ptrdiff_t const tile = tile_, places = tile_ + 2 * chain.widest(), stages = chain.count();
      Kokkos::parallel_for(
          "tessera::stencil_chain::roles::chunk",
          with_scratch(Policy(exec, chunks.count, threads_), Buffers::shmem_size(2 * stages * places)),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            Buffers const buffers(team.team_scratch(0), 2 * stages * places);
            std::ptrdiff_t const begin = chunks.begin(team.league_rank()), end = chunks.end(team.league_rank());
            Window const window(begin, end, chain.reach(), chunks.n);
            Role const role(team.team_rank(), team.team_size(), stages);
            std::ptrdiff_t const lo = window.lo, steps = stages - 1 + (end - lo + chain.reach() + tile - 1) / tile;
            for (std::ptrdiff_t step = 0; step < steps; ++step) {
              for (int s = role.group; s < stages; s += role.groups) {  // several if there are few threads
                Stage<T> const stage = chain.stage(s);
                int const reached = chain.reach(s + 1), kept = s + 1 < stages ? 2 * chain.stage(s + 1).reach : 0;
                T* const to = buffers.data() + (2 * s + step % 2) * places;
                T const* const before = buffers.data() + (2 * s + (step + 1) % 2) * places;
                for (int j = role.worker; j < kept; j += role.workers) to[j] = before[j + tile];
                // So far behind the stage before that the elements on the right are there.
                std::ptrdiff_t const at = lo + (step - s) * tile - reached;
                std::ptrdiff_t const first = s + 1 < stages ? window.first(reached) : begin;
                std::ptrdiff_t const last = s + 1 < stages ? window.last(reached) : end;
                std::ptrdiff_t const stop = Kokkos::min(at + tile, last);
                for (std::ptrdiff_t i = Kokkos::max(at, first) + role.worker; i < stop; i += role.workers) {
                  T const* const from = s == 0 ? in.data() + i : before - 2 * places + (i - at + stage.reach);
                  (s + 1 < stages ? to[i - at + kept] : out(i)) = stage(from, i, chunks.n - 1 - i);
                }
              }
              team.team_barrier();
            }
          });
    }

   private:
    StageChain<T> chain_;
    int threads_;
    int tile_;
    kernels::Chunks chunks_;
  };
};

VariantRows roles() { return rows<StencilChain, Roles>(); }

}  // namespace tessera::stencil_chain
