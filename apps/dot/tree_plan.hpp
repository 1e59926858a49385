#pragma once
/// \file
/// A tree in scratch: every thread sums its part of the team's chunk, the team folds the threads' sums, and every team
/// adds its result to the output atomically (a separate launch sets the output to zero first). `team_tree` and
/// `sequential_addressing` differ in the fold.

#include <cmath>
#include <cstddef>
#include <string>

#include "problem.hpp"

#include <tessera/collective/operators.hpp>
#include <tessera/core/problem.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>

namespace tessera::dot {

/// \tparam Fold folds the values of a team's threads in scratch into the first value: Fold()(team, values, n, op)
template <ExecutionSpace Exec, class T, class Fold>
class TreePlan {
 public:
  static constexpr bool atomic_sums = true;

  using Policy = Kokkos::TeamPolicy<Exec>;
  using Sum = Accumulator<T>;
  using Sums = ScratchView<Sum*, Exec>;

  /// \param label name of the launch and of the plan's allocations
  TreePlan(std::string const& label, Exec const& exec, InputOn<Dot, Exec, T> const& input)
      : label_(label + "::sum"),
        threads_(kernels::team_size(exec, input.parameters.team)),
        chunks_(kernels::chunks_of(exec, input.a.extent(0), 16 * static_cast<std::size_t>(threads_), threads_)),
        total_(label + "::total") {}

  void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& input, OutputOn<Dot, Exec, T> const& output) const {
    auto const a = input.a;
    auto const b = input.b;
    auto const out = total_.of(output.out);
    auto const chunks = chunks_;
    Kokkos::deep_copy(exec, out, Sum(0));
    Policy const policy(exec, chunks.count, threads_);
    Kokkos::parallel_for(
        label_, with_scratch(policy, Sums::shmem_size(threads_)),
        KOKKOS_LAMBDA(typename Policy::member_type const& team) {
          Sums const sums(team.team_scratch(0), team.team_size());
          std::size_t const end = chunks.end(team.league_rank());
          Sum sum = 0;
          // Neighbouring threads read neighbouring elements.
          for (std::size_t i = chunks.begin(team.league_rank()) + team.team_rank(); i < end; i += team.team_size()) {
            sum += product(a(i), b(i));
          }
          sums(team.team_rank()) = sum;
          Fold{}(team, sums, team.team_size(), collective::Sum<Sum>{});
          if (team.team_rank() == 0) Kokkos::atomic_add(&out(), sums(0));
          leave_scratch(team);
        });
    total_.store(exec, output.out);
  }

  /// Counts a product, a thread's part, the tree, and at worst one team after the other.
  [[nodiscard]] double rounding_steps() const {
    return 1 + std::ceil(static_cast<double>(chunks_.size) / threads_) + std::ceil(std::log2(threads_)) + chunks_.count;
  }

 private:
  std::string label_;
  int threads_;
  kernels::Chunks chunks_;
  Total<Exec, T> total_;
};

}  // namespace tessera::dot
