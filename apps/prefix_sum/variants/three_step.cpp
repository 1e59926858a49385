/// \file
/// A scan of any length in three launches: scan each tile in scratch (Hillis and Steele, 1986), scan the tiles' totals,
/// add to each tile the sum of the tiles before it. A sweep over a tile reads one half of its scratch and writes the
/// other.

#include "../problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::prefix_sum {

struct ThreeStep {
  static constexpr VariantInfo info{.name = "three_step",
                                    .level = Level::team,
                                    .summary = "sums only: scan tiles, scan their totals, add",
                                    .lesson = true};

  template <ExecutionSpace Exec, std::floating_point T>
  struct Plan {
    using Teams = Kokkos::TeamPolicy<Exec>;
    using Input = InputOn<PrefixSum, Exec, T>;
    int threads, tile;
    Kokkos::View<T*, typename Exec::memory_space> totals;

    Plan(Exec const& exec, Input const& input)
        : threads(kernels::team_size(exec, input.parameters.team)),
          tile(kernels::scratch_tile<Exec>(input.parameters.tile, 2 * sizeof(T), 0)),
          totals("tessera::prefix_sum::three_step::totals", league_of(tiles_of(input.in.extent(0), tile))) {
      Parameters const& p = input.parameters;
      bool const plain = p.op == collective::OperatorKind::sum && !p.exclusive && p.segment == 0 && !p.totals;
      if (!plain) throw Skip("three_step is for inclusive sums without --segment and --totals");
    }

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& out,
                    ArrayOn<T*, Exec> const&) const {
      auto const before_tile = totals;
      std::size_t const n = in.extent(0), size = tile;
      Kokkos::parallel_for(
          "tessera::prefix_sum::three_step::tiles",
          with_scratch(Teams(exec, static_cast<int>(before_tile.size()), threads),
                       ScratchView<T*, Exec>::shmem_size(2 * size)),
          KOKKOS_LAMBDA(typename Teams::member_type const& team) {
            ScratchView<T*, Exec> const values(team.team_scratch(0), 2 * size);
            std::size_t begin = team.league_rank() * size, count = Kokkos::min(size, n - begin), from = 0;
            auto const elements = Kokkos::TeamThreadRange(team, count);
            Kokkos::parallel_for(elements, [&](std::size_t t) { values(t) = in(begin + t); });
            for (std::size_t step = 1; step < count; step *= 2) {
              team.team_barrier();
              Kokkos::parallel_for(elements, [&](std::size_t t) {
                values(size - from + t) = values(from + t) + (t < step ? T(0) : values(from + t - step));
              });
              from = size - from;
            }
            team.team_barrier();
            Kokkos::parallel_for(elements, [&](std::size_t t) { out(begin + t) = values(from + t); });
            leave_scratch(team);
          });
      Kokkos::parallel_scan(
          "tessera::prefix_sum::three_step::totals", over(exec, before_tile.size()),
          KOKKOS_LAMBDA(std::size_t i, T& before, bool last) {
            if (last) before_tile(i) = before;
            before += out(Kokkos::min(n, (i + 1) * size) - 1);
          });
      Kokkos::parallel_for(
          "tessera::prefix_sum::three_step::add", over(exec, n),
          KOKKOS_LAMBDA(std::size_t i) { out(i) += before_tile(i / size); });
    }
  };
};

VariantRows three_step() { return rows<PrefixSum, ThreeStep>(); }

}  // namespace tessera::prefix_sum
