/// \file
/// For small k: a team per row. Each thread reads every t-th element and keeps its k best in a heap in scratch, whose
/// root is the worst of them. Most elements are worse than the root and cost one comparison. Then threads join their
/// heaps in pairs, and the roots of the last heap are the results, from the last one to the first.

#include "../heap.hpp"
#include "../problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::top_k {

struct TeamHeaps {
  static constexpr VariantInfo info{.name = "team_heaps",
                                    .level = Level::team,
                                    .summary = "a team per row, a heap of the k best per thread; small k",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  struct Plan {
    using Teams = Kokkos::TeamPolicy<Exec>;
    using Heaps = ScratchView<Candidate<T>*, Exec>;
    int threads;

    Plan(Exec const& exec, InputOn<TopK, Exec, T> const& input)
        : threads(kernels::team_size(exec, input.parameters.team)) {
      // A row's heaps share the scratch: a larger k leaves fewer threads.
      std::size_t const bytes = k_of(input) * sizeof(Candidate<T>);
      auto const most = static_cast<std::size_t>(Teams(exec, 1, 1).scratch_size_max(0));
      while (input.parameters.team == 0 && threads > 1 && threads * bytes + 64 > most) threads /= 2;
      kernels::require_scratch<Exec>(threads * bytes + 64);
    }

    void operator()(Exec const& exec, InputOn<TopK, Exec, T> const& in, OutputOn<TopK, Exec, T> const& out) const {
      int const k = static_cast<int>(out.values.extent(1));
      int const count = threads;
      if (k == 0) return;
      auto const policy = with_scratch(Teams(exec, league_of(in.in.extent(0)), count), Heaps::shmem_size(count * k));
      Kokkos::parallel_for(
          "tessera::top_k::team_heaps::select", policy, KOKKOS_LAMBDA(typename Teams::member_type const& team) {
            int const row = team.league_rank();
            Heaps const heaps(team.team_scratch(0), count * k);
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int thread) {
              for (int i = 0; i < k; ++i) heaps(thread * k + i) = Candidate<T>{};
              for (std::int64_t i = thread; i < static_cast<std::int64_t>(in.in.extent(1)); i += count) {
                offer(&heaps(thread * k), k, Candidate<T>{collective::ascending_word(in.in(row, i)), i});
              }
            });
            for (int stride = 1; stride < count; stride *= 2) {
              team.team_barrier();
              Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int thread) {
                if (thread % (2 * stride) != 0 || thread + stride >= count) return;
                for (int i = 0; i < k; ++i) offer(&heaps(thread * k), k, heaps((thread + stride) * k + i));
              });
            }
            team.team_barrier();
            Kokkos::single(Kokkos::PerTeam(team), [&] {
              for (int size = k; size-- > 0; replace_root(&heaps(0), size, heaps(size))) {
                out.indices(row, size) = heaps(0).index;
                out.values(row, size) = in.in(row, heaps(0).index);
              }
            });
            leave_scratch(team);
          });
    }
  };
};

VariantRows team_heaps() { return rows<TopK, TeamHeaps>(); }

}  // namespace tessera::top_k
