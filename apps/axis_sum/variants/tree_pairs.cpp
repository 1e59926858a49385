/// \file
/// `tree` with neighbours first: the threads' sums are added in pairs, and the results packed to the front, so that a level
/// writes where it reads: read to a register, barrier, write, barrier (collective/team/fold_pairs.hpp).

#include <cmath>

#include "../problem.hpp"

#include <tessera/collective/operators.hpp>
#include <tessera/collective/team/fold_pairs.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::axis_sum {

struct TreePairs {
  static constexpr VariantInfo info{.name = "tree_pairs",
                                    .level = Level::team,
                                    .summary = "the same, neighbours first: read, barrier, write, barrier"};

  template <ExecutionSpace Exec, class T>
  struct Plan {
    using Teams = Kokkos::TeamPolicy<Exec>;
    using Sum = Accumulator<T>;
    using Sums = ScratchView<Sum*, Exec>;
    int threads;
    std::size_t count;  // elements of a sum

    Plan(Exec const& exec, InputOn<AxisSum, Exec, T> const& in)
        : threads(kernels::team_size(exec, in.parameters.team)), count(in.a.extent(in.parameters.axis == 1 ? 1 : 0)) {}
    void operator()(Exec const& exec, InputOn<AxisSum, Exec, T> const& in, OutputOn<AxisSum, Exec, T> const& to) const {
      auto const a = in.a;
      auto const out = to.out;
      auto const n = count;
      bool const rows = in.parameters.axis == 1;
      Teams const teams(exec, league_of(out.extent(0)), threads);
      Kokkos::parallel_for(
          "tessera::axis_sum::tree_pairs::sum", with_scratch(teams, Sums::shmem_size(threads)),
          KOKKOS_LAMBDA(typename Teams::member_type const& team) {
            Sums const sums(team.team_scratch(0), team.team_size());
            int const i = team.league_rank();
            Sum sum = 0;
            for (std::size_t k = team.team_rank(); k < n; k += team.team_size()) sum += rows ? a(i, k) : a(k, i);
            sums(team.team_rank()) = sum;
            team::fold_pairs(team, sums, team.team_size(), collective::Sum<Sum>{});
            if (team.team_rank() == 0) out(i) = static_cast<T>(sums(0));
            leave_scratch(team);
          });
    }
    /// A thread's share, and the tree.
    [[nodiscard]] double rounding_steps() const {
      return std::ceil(static_cast<double>(count) / threads) + std::ceil(std::log2(threads));
    }
  };
};
VariantRows tree_pairs() { return rows<AxisSum, TreePairs>(); }

}  // namespace tessera::axis_sum
