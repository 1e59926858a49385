#pragma once
/// \file
/// What a team collective requires of its team. Kokkos' team members are teams; so is one in the tests that runs its
/// threads in the worst order between barriers.

#include <concepts>

namespace tessera::team {

template <class M>
concept Team = requires(M const& team) {
  { team.team_rank() } -> std::convertible_to<int>;
  { team.team_size() } -> std::convertible_to<int>;
  team.team_barrier();
};

}  // namespace tessera::team
