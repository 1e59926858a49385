/// \file
/// A hierarchy like the array's: a team takes rows of one plane, a thread one row after the other, and its lanes take
/// the columns.

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_3d {

struct Nested {
  static constexpr VariantInfo info{.name = "nested",
                                    .level = Level::team,
                                    .summary = "rows of a plane per team, one row per thread, columns over its lanes"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    // Enough work per team also if rows are short.
    static constexpr int rows_of_team = 32;

    Plan(Exec const& exec, InputOn<Map3d, Exec, T> const& input)
        : lanes_(kernels::lanes_for<Exec>(input.a.extent(2))),
          threads_(kernels::team_size(exec, input.parameters.team, lanes_)),
          teams_(league_of(tiles_of(input.a.extent(1), rows_of_team))),
          league_(league_of(input.a.extent(0) * static_cast<std::size_t>(teams_))) {}

    void operator()(Exec const& exec, ArrayOn<T const***, Exec> const& a, ArrayOn<T***, Exec> const& out,
                    Map3d::Parameters const& parameters) const {
      if (a.size() == 0) return;
      AddConstant<T> const add{static_cast<T>(parameters.c)};
      int const teams = teams_;
      Kokkos::parallel_for(
          "tessera::map_3d::nested::add", Policy(exec, league_, threads_, lanes_),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            auto const plane = static_cast<std::size_t>(team.league_rank() / teams);
            std::size_t const begin = static_cast<std::size_t>(team.league_rank() % teams) * rows_of_team;
            std::size_t const end = Kokkos::min<std::size_t>(begin + rows_of_team, a.extent(1));
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end), [&](std::size_t row) {
              Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, a.extent(2)),
                                   [&](std::size_t col) { out(plane, row, col) = add(a(plane, row, col)); });
            });
          });
    }

   private:
    int lanes_;
    int threads_;
    int teams_;  // per plane
    int league_;
  };
};

VariantRows nested() { return rows<Map3d, Nested>(); }

}  // namespace tessera::map_3d
