#pragma once
/// \file
/// Reduction of one value per thread over a team, by its lanes.

#include <Kokkos_Macros.hpp>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/team/team.hpp>
#include <tessera/collective/thread/reduce.hpp>

namespace tessera::team {

/// Returns the combination of one value per thread, in every lane of the team. Must be called by all lanes. `value`:
/// the same in all lanes of a thread. Scratch: one value per thread, which may be overwritten after the caller's next
/// barrier. Barriers: one, or none for a team of one thread. Operator: associative, commutative.
///
/// Example, 4 threads, sum: values 3 1 4 1 -> 9.
template <Team M, lane::Lanes L, class V, class Op>
[[nodiscard]] KOKKOS_FUNCTION V fold_threads(M const& team, L const& lanes, V const& value, V* scratch,
                                             V const& identity, Op const& op) {
  if (team.team_size() == 1) return value;
  lanes.each([&](int lane) {
    if (lane == 0) scratch[team.team_rank()] = value;
  });
  team.team_barrier();
  auto of_lane = lanes.template fill<V>(identity);
  for (int first = 0; first < team.team_size(); first += L::width) {
    lanes.each(
        [&](int lane, V& own) {
          if (first + lane < team.team_size()) own = op(own, scratch[first + lane]);
        },
        of_lane);
  }
  return thread::reduce<V>(lanes, of_lane, op);
}

}  // namespace tessera::team
