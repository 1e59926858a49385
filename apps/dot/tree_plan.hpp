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
#include <tessera/core/scratch.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::dot {

/// \tparam Variant its `fold(team, values, n, op)` folds the values of a team's threads in scratch into the first value
template <class Variant, ExecutionSpace Exec, class T>
class TreePlan {
 public:
  static constexpr bool atomic_sums = true;

  using Policy = Kokkos::TeamPolicy<Exec>;
  using Sum = Accumulator<T>;
  using Sums = ScratchView<Sum*, Exec>;

  TreePlan(Exec const& exec, InputOn<Dot, Exec, T> const& input)
      : threads_(kernels::team_size(exec, input.parameters.team)),
        chunks_(kernels::chunks_of(exec, input.a.extent(0), 16 * static_cast<std::size_t>(threads_), threads_)) {}

  void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                  ArrayOn<T, Exec> const& output) const {
    auto const out = total_.of(output);
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
          Variant::fold(team, sums, team.team_size(), collective::Sum<Sum>{});
          if (team.team_rank() == 0) Kokkos::atomic_add(&out(), sums(0));
          leave_scratch(team);
        });
    total_.store(exec, output);
  }

  /// Counts a product, a thread's part, the tree, and at worst one team after the other.
  [[nodiscard]] double rounding_steps() const {
    return 1 + std::ceil(static_cast<double>(chunks_.size) / threads_) + std::ceil(std::log2(threads_)) + chunks_.count;
  }

 private:
  std::string label_ = "tessera::dot::" + std::string(Variant::info.name) + "::sum";
  int threads_;
  kernels::Chunks chunks_;
  Total<Exec, T> total_{"tessera::dot::" + std::string(Variant::info.name) + "::total"};
};

}  // namespace tessera::dot
