/// \file
/// The plain Kokkos answer: one team reduction per sum. A column's elements are a row apart.

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::axis_sum {

struct TeamReduce {
  static constexpr VariantInfo info{.name = "team_reduce",
                                    .level = Level::team,
                                    .summary = "one team and its reduction per sum, the baseline",
                                    .lesson = true};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    using Teams = Kokkos::TeamPolicy<Exec>;
    int threads;
    Plan(Exec const& exec, InputOn<AxisSum, Exec, T> const& in)
        : threads(kernels::team_size(exec, in.parameters.team)) {}
    void operator()(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T*, Exec> const& out,
                    Parameters const& parameters) const {
      bool const rows = parameters.axis == 1;
      auto const sum_one = KOKKOS_LAMBDA(typename Teams::member_type const& team) {
        int const i = team.league_rank();
        auto const range = Kokkos::TeamThreadRange(team, a.extent(rows ? 1 : 0));
        Accumulator<T> total;
        Kokkos::parallel_reduce(
            range, [&](std::size_t k, Accumulator<T>& sum) { sum += rows ? a(i, k) : a(k, i); }, total);
        Kokkos::single(Kokkos::PerTeam(team), [&] { out(i) = static_cast<T>(total); });
      };
      Teams const teams(exec, league_of(out.extent(0)), threads);
      Kokkos::parallel_for("tessera::axis_sum::team_reduce::sum", teams, sum_one);
    }
  };
};
VariantRows team_reduce() { return rows<AxisSum, TeamReduce>(); }

}  // namespace tessera::axis_sum
