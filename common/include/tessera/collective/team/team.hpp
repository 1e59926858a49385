#pragma once
/// \file
/// The requirements of a team collective on its team. Kokkos' team members satisfy them. So does a team in the tests,
/// which runs its threads in the worst order between barriers.

#include <concepts>

namespace tessera::team {

template <class M>
concept Team = requires(M const& team) {
  { team.team_rank() } -> std::convertible_to<int>;
  { team.team_size() } -> std::convertible_to<int>;
  team.team_barrier();
};

}  // namespace tessera::team
