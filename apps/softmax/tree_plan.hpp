#pragma once
/// \file
/// One team per group (a row, a column, or all elements), and trees in its scratch: the threads' maxima are folded,
/// then their sums of exponentials. `tree` and `tree_pairs` differ in the fold. A column's elements are a row apart.

#include <cmath>
#include <cstddef>
#include <string>

#include "problem.hpp"

#include <tessera/collective/operators.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

/// \tparam Variant its `fold(team, values, n, op)` folds the values of a team's threads in scratch into the first value
template <class Variant, ExecutionSpace Exec, class T>
class TreePlan {
 public:
  using Teams = Kokkos::TeamPolicy<Exec>;
  using Member = typename Teams::member_type;
  using Values = ScratchView<T*, Exec>;

  TreePlan(Exec const& exec, InputOn<Softmax, Exec, T> const& input)
      : threads_(kernels::team_size(exec, input.parameters.team)),
        count_(Softmax::terms({{input.x.extent(0), input.x.extent(1)}}, input.parameters)) {}

  void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& input,
                  OutputOn<Softmax, Exec, T> const& output) const {
    auto const x = groups_of(input.x, input.parameters);
    auto const y = groups_of(output.y, input.parameters);
    auto const count = count_;
    bool const columns = input.parameters.axis == Axis::cols;
    if (x.size() == 0) return;
    Teams const teams(exec, league_of(x.extent(columns ? 1 : 0)), threads_);
    Kokkos::parallel_for(
        label_, with_scratch(teams, Values::shmem_size(threads_)), KOKKOS_LAMBDA(Member const& team) {
          Values const of_threads(team.team_scratch(0), team.team_size());
          int const group = team.league_rank();
          auto const at = [&](std::size_t k) { return columns ? x(k, group) : x(group, k); };
          auto const folded = [&](T const& of_thread, auto const& op) {
            of_threads(team.team_rank()) = of_thread;
            Variant::fold(team, of_threads, team.team_size(), op);
            T const result = of_threads(0);
            leave_scratch(team);  // before the next tree's values are written
            return result;
          };
          collective::Max<T> const larger;  // a NaN stays NaN
          T max = larger.identity();
          for (std::size_t k = team.team_rank(); k < count; k += team.team_size()) max = larger(max, at(k));
          max = folded(max, larger);
          T sum = 0;
          for (std::size_t k = team.team_rank(); k < count; k += team.team_size()) sum += Kokkos::exp(at(k) - max);
          sum = folded(sum, collective::Sum<T>{});
          for (std::size_t k = team.team_rank(); k < count; k += team.team_size()) {
            (columns ? y(k, group) : y(group, k)) = Kokkos::exp(at(k) - max) / sum;
          }
        });
  }

  /// Counts a thread's part and the tree.
  [[nodiscard]] double rounding_steps() const {
    return std::ceil(static_cast<double>(count_) / threads_) + std::ceil(std::log2(threads_));
  }

 private:
  std::string label_ = "tessera::softmax::" + std::string(Variant::info.name) + "::groups";
  int threads_;
  std::size_t count_;  // elements per group
};

}  // namespace tessera::softmax
