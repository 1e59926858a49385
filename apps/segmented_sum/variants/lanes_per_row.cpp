/// \file
/// The lanes of a thread add one segment, as many lanes as a segment of mean length keeps busy. A segment that is much
/// longer than the mean still keeps few lanes busy for long.

#include <algorithm>
#include <bit>

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::segmented_sum {

struct LanesPerRow {
  static constexpr VariantInfo info{.name = "lanes_per_row",
                                    .level = Level::lane,
                                    .summary = "1 to 32 vector lanes per segment, by the mean length",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  struct Plan {
    using Teams = Kokkos::TeamPolicy<Exec>;
    int lanes = 1;
    int threads;

    Plan(Exec const& exec, InputOn<SegmentedSum, Exec, T> const& input) {
      std::size_t const mean = input.in.extent(0) / std::max<std::size_t>(1, input.offsets.extent(0) - 1);
      if (is_gpu<Exec>) lanes = static_cast<int>(std::bit_floor(std::clamp<std::size_t>(mean, 1, 32)));
      threads = kernels::team_size(exec, input.parameters.team, lanes);
    }

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in,
                    ArrayOn<std::int64_t const*, Exec> const& offsets, ArrayOn<T*, Exec> const& out) const {
      std::size_t const rows = out.extent(0);
      auto const sum_some = KOKKOS_LAMBDA(typename Teams::member_type const& team) {
        std::size_t const r = static_cast<std::size_t>(team.league_rank()) * team.team_size() + team.team_rank();
        if (r >= rows) return;
        auto const elements = Kokkos::ThreadVectorRange(team, offsets(r), offsets(r + 1));
        Accumulator<T> total;
        Kokkos::parallel_reduce(
            elements, [&](std::int64_t i, Accumulator<T>& sum) { sum += static_cast<Accumulator<T>>(in(i)); }, total);
        Kokkos::single(Kokkos::PerThread(team), [&] { out(r) = static_cast<T>(total); });
      };
      Teams const teams(exec, league_of(tiles_of(rows, threads)), threads, lanes);
      Kokkos::parallel_for("tessera::segmented_sum::lanes_per_row::sum", teams, sum_some);
    }
  };
};

VariantRows lanes_per_row() { return rows<SegmentedSum, LanesPerRow>(); }

}  // namespace tessera::segmented_sum
