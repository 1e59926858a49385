#pragma once
/// \file
/// One team per sum, and a tree in its scratch: every thread adds up its part in a register, and the team folds the
/// threads' sums. `tree` and `tree_pairs` differ in the fold. A column's elements are a row apart.

#include <cmath>
#include <cstddef>
#include <string>

#include "problem.hpp"

#include <tessera/collective/operators.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::axis_sum {

/// \tparam Variant its `fold(team, values, n, op)` folds the values of a team's threads in scratch into the first value
template <class Variant, ExecutionSpace Exec, class T>
class TreePlan {
 public:
  using Teams = Kokkos::TeamPolicy<Exec>;
  using Sum = Accumulator<T>;
  using Sums = ScratchView<Sum*, Exec>;

  TreePlan(Exec const& exec, InputOn<AxisSum, Exec, T> const& input)
      : threads_(kernels::team_size(exec, input.parameters.team)),
        count_(input.a.extent(input.parameters.axis == 1 ? 1 : 0)) {}

  void operator()(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T*, Exec> const& out,
                  Parameters const& parameters) const {
    auto const n = count_;
    bool const rows = parameters.axis == 1;
    Teams const teams(exec, league_of(out.extent(0)), threads_);
    Kokkos::parallel_for(
        label_, with_scratch(teams, Sums::shmem_size(threads_)),
        KOKKOS_LAMBDA(typename Teams::member_type const& team) {
          Sums const sums(team.team_scratch(0), team.team_size());
          int const i = team.league_rank();
          Sum sum = 0;
          for (std::size_t k = team.team_rank(); k < n; k += team.team_size()) sum += rows ? a(i, k) : a(k, i);
          sums(team.team_rank()) = sum;
          Variant::fold(team, sums, team.team_size(), collective::Sum<Sum>{});
          if (team.team_rank() == 0) out(i) = static_cast<T>(sums(0));
          leave_scratch(team);
        });
  }

  /// Counts a thread's part and the tree.
  [[nodiscard]] double rounding_steps() const {
    return std::ceil(static_cast<double>(count_) / threads_) + std::ceil(std::log2(threads_));
  }

 private:
  std::string label_ = "tessera::axis_sum::" + std::string(Variant::info.name) + "::sum";
  int threads_;
  std::size_t count_;  // elements per sum
};

}  // namespace tessera::axis_sum
