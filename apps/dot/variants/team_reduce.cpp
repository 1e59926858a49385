/// \file
/// Kokkos' own hierarchy: a reduction over each team's chunk, nested in a reduction over the league.

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::dot {

struct TeamReduce {
  static constexpr VariantInfo info{
      .name = "team_reduce",
      .level = Level::team,
      .summary = "Kokkos::parallel_reduce over teams of Kokkos::parallel_reduce in a team",
      .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    using Sum = Accumulator<T>;

    Plan(Exec const& exec, InputOn<Dot, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)),
          chunks_(kernels::chunks_of(exec, input.a.extent(0), 16 * static_cast<std::size_t>(threads_), threads_)) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                    ArrayOn<T, Exec> const& out) const {
      auto const chunks = chunks_;
      Kokkos::parallel_reduce(
          "tessera::dot::team_reduce::sum", Policy(exec, chunks.count, threads_),
          KOKKOS_LAMBDA(typename Policy::member_type const& team, Sum& sum) {
            Sum of_team = 0;
            Kokkos::parallel_reduce(
                Kokkos::TeamThreadRange(team, chunks.begin(team.league_rank()), chunks.end(team.league_rank())),
                [&](std::size_t i, Sum& partial) { partial += product(a(i), b(i)); }, of_team);
            if (team.team_rank() == 0) sum += of_team;
          },
          total_.of(out));
      total_.store(exec, out);
    }

   private:
    int threads_;
    kernels::Chunks chunks_;
    Total<Exec, T> total_{"tessera::dot::team_reduce::total"};
  };
};

VariantRows team_reduce() { return rows<Dot, TeamReduce>(); }

}  // namespace tessera::dot
