/// \file
/// A team adds one segment: its threads read neighbouring elements. A short segment leaves most of the team idle.

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::segmented_sum {

struct RowPerTeam {
  static constexpr VariantInfo info{.name = "row_per_team",
                                    .level = Level::team,
                                    .summary = "one team and its reduction per segment",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  struct Plan {
    using Teams = Kokkos::TeamPolicy<Exec>;
    int threads;

    Plan(Exec const& exec, InputOn<SegmentedSum, Exec, T> const& input)
        : threads(kernels::team_size(exec, input.parameters.team)) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in,
                    ArrayOn<std::int64_t const*, Exec> const& offsets, ArrayOn<T*, Exec> const& out) const {
      auto const sum_one = KOKKOS_LAMBDA(typename Teams::member_type const& team) {
        int const r = team.league_rank();
        auto const elements = Kokkos::TeamThreadRange(team, offsets(r), offsets(r + 1));
        Accumulator<T> total;
        Kokkos::parallel_reduce(
            elements, [&](std::int64_t i, Accumulator<T>& sum) { sum += static_cast<Accumulator<T>>(in(i)); }, total);
        Kokkos::single(Kokkos::PerTeam(team), [&] { out(r) = static_cast<T>(total); });
      };
      Teams const teams(exec, league_of(out.extent(0)), threads);
      Kokkos::parallel_for("tessera::segmented_sum::row_per_team::sum", teams, sum_one);
    }
  };
};

VariantRows row_per_team() { return rows<SegmentedSum, RowPerTeam>(); }

}  // namespace tessera::segmented_sum
