/// \file
/// The whole input and the taps in the scratch of one team: the puzzle's first kernel. Only small inputs fit.

#include <string>

#include "../problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

struct SingleTeam {
  static constexpr VariantInfo info{.name = "single_team",
                                    .level = Level::team,
                                    .summary = "the whole input, and k, in one team's scratch, if they fit",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Conv1d, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)) {
      auto const most = static_cast<std::size_t>(Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0));
      std::size_t const places = most < 512 ? 0 : (most - 512) / sizeof(T);  // beside the Views' padding
      std::size_t const needed = input.a.extent(0) + taps_of(input.a, input.k);
      if (needed > places) {
        throw Skip("an input and kernel of " + std::to_string(needed) + " elements (a team's scratch holds " +
                   std::to_string(places) + ")");
      }
    }

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& k,
                    ArrayOn<T*, Exec> const& out) const {
      using Policy = Kokkos::TeamPolicy<Exec>;
      using Staged = ScratchView<T*, Exec>;
      auto const n = static_cast<int>(a.extent(0));
      auto const taps = static_cast<int>(taps_of(a, k));
      if (n == 0) return;
      Kokkos::parallel_for(
          "tessera::conv1d::single_team::sum",
          with_scratch(Policy(exec, 1, threads_), Staged::shmem_size(n) + Staged::shmem_size(taps)),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            Staged const staged(team.team_scratch(0), n);
            Staged const factors(team.team_scratch(0), taps);
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n), [&](int i) { staged(i) = a(i); });
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, taps), [&](int j) { factors(j) = k(j); });
            team.team_barrier();
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n), [&](int i) {
              Accumulator<T> sum = 0;
              for (int j = 0; j < taps && i + j < n; ++j) sum += product(staged(i + j), factors(j));
              out(i) = static_cast<T>(sum);
            });
            leave_scratch(team);
          });
    }

   private:
    int threads_;
  };
};

VariantRows single_team() { return rows<Conv1d, SingleTeam>(); }

}  // namespace tessera::conv1d
