/// \file
/// The book's kernel: a team holds its row in scratch and halves it to the maximum, then to the sum of exponentials.
/// The row is read from memory once.

#include "../problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

struct ScratchRow {
  static constexpr VariantInfo info{.name = "scratch_row",
                                    .level = Level::team,
                                    .summary = "short rows in scratch, halved to their maximum and sum",
                                    .lesson = true};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    using Row = ScratchView<T*, Exec>;
    using Input = InputOn<Softmax, Exec, T>;

    Plan(Exec const& exec, Input const& input) : threads_(kernels::team_size(exec, input.parameters.team)) {
      needs_axis(input.parameters, {Axis::all, Axis::rows}, "scratch_row");
      auto const x = groups_of(input.x, input.parameters);
      kernels::require_scratch<Exec>(2 * sizeof(T) * x.extent(1) + 128);
      league_ = league_of(x.size() == 0 ? 0 : x.extent(0));
    }

    void operator()(Exec const& exec, Input const& input, OutputOn<Softmax, Exec, T> const& output) const {
      auto const x = groups_of(input.x, input.parameters);
      auto const y = groups_of(output.y, input.parameters);
      int const n = static_cast<int>(x.extent(1));
      Kokkos::parallel_for(
          "tessera::softmax::scratch_row::rows", with_scratch(Policy(exec, league_, threads_), 2 * Row::shmem_size(n)),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            Row const row(team.team_scratch(0), n), part(team.team_scratch(0), n);
            int const r = team.league_rank();
            auto const columns = Kokkos::TeamThreadRange(team, n);
            Kokkos::parallel_for(columns, [&](int c) { row(c) = part(c) = x(r, c); });
            team.team_barrier();
            for (int width = n; width > 1; width = (width + 1) / 2) {
              Kokkos::parallel_for(Kokkos::TeamThreadRange(team, width / 2), [&](int c) {
                T const other = part(c + (width + 1) / 2);
                if (other > part(c)) part(c) = other;
              });
              team.team_barrier();
            }
            T const max = part(0);
            team.team_barrier();  // all have read it before it is overwritten
            Kokkos::parallel_for(columns, [&](int c) { row(c) = part(c) = Kokkos::exp(row(c) - max); });
            team.team_barrier();
            for (int width = n; width > 1; width = (width + 1) / 2) {
              Kokkos::parallel_for(Kokkos::TeamThreadRange(team, width / 2),
                                   [&](int c) { part(c) += part(c + (width + 1) / 2); });
              team.team_barrier();
            }
            Kokkos::parallel_for(columns, [&](int c) { y(r, c) = row(c) / part(0); });
            leave_scratch(team);
          });
    }

   private:
    int threads_, league_;
  };
};

VariantRows scratch_row() { return rows<Softmax, ScratchRow>(); }

}  // namespace tessera::softmax
