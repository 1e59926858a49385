/// \file
/// three_pass for --axis rows: a team takes a row, and its reductions and its loop are nested. Its threads and their
/// lanes share the columns.

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

struct ThreePassRows {
  static constexpr VariantInfo info{.name = "three_pass_rows",
                                    .level = Level::team,
                                    .summary = "a team per row: nested reductions to maximum and sum, then quotients",
                                    .lesson = true};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    using Teams = Kokkos::TeamPolicy<Exec>;

    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& input)
        : lanes_((needs_axis(input.parameters, {Axis::rows}, "three_pass_rows"),
                  kernels::lanes_for<Exec>(input.x.extent(1)))),
          threads_(kernels::team_size(exec, input.parameters.team, lanes_)) {}

    void operator()(Exec const& exec, ArrayOn<T const**, Exec> const& x, ArrayOn<T**, Exec> const& y,
                    Softmax::Parameters const&) const {
      if (x.size() == 0) return;
      Kokkos::parallel_for(
          "tessera::softmax::three_pass_rows::rows", Teams(exec, league_of(x.extent(0)), threads_, lanes_),
          KOKKOS_LAMBDA(typename Teams::member_type const& team) {
            int const r = team.league_rank();
            auto const columns = Kokkos::TeamVectorRange(team, x.extent(1));
            T max;
            Kokkos::parallel_reduce(
                columns,
                [&](std::size_t c, T& largest) {
                  if (x(r, c) > largest) largest = x(r, c);
                },
                Kokkos::Max<T>(max));
            T sum;
            Kokkos::parallel_reduce(
                columns, [&](std::size_t c, T& total) { total += Kokkos::exp(x(r, c) - max); }, sum);
            Kokkos::parallel_for(columns, [&](std::size_t c) { y(r, c) = Kokkos::exp(x(r, c) - max) / sum; });
          });
    }

   private:
    int lanes_, threads_;
  };
};

VariantRows three_pass_rows() { return rows<Softmax, ThreePassRows>(); }

}  // namespace tessera::softmax
