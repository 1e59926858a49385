#pragma once
/// \file
/// Clusters: a few neighbouring teams of a league that run at the same time and reach each other's scratch. A team's
/// rank in its cluster is its place there. CUDA has clusters from compute capability 9.0
/// (kernels/detail/launch/cluster.hpp); tests on a host have a model (tests/collective/adversarial_cluster.hpp).
///
/// A team in a cluster is a Team with these functions:
///   cluster_rank(), cluster_size()   this team's rank, and the number of teams
///   cluster_barrier()                a barrier of all threads of all teams of the cluster, and so of each team:
///                                    afterwards, each thread sees what every other wrote to any team's scratch before
///   scratch_of(rank, own)            the address in the scratch of team `rank` that is `own` in the caller's scratch
///   add_to(rank, own, value)         atomic addition to a counter in the scratch of team `rank`
///
/// A team's scratch may be accessed by others from a cluster_barrier() at which all teams have begun, and until another
/// one before the team ends: the scratch of a team that has ended may belong to another team.
///
/// Source: NVIDIA, PTX ISA, "barrier.cluster", "mapa"; CUDA C++ Programming Guide, "Distributed Shared Memory".

#include <Kokkos_Macros.hpp>

#include <concepts>
#include <cstdint>

#include <tessera/collective/team/team.hpp>

namespace tessera::team {

/// A team in a cluster.
template <class M>
concept Cluster = Team<M> && requires(M const& team, std::uint32_t* own) {
  { team.cluster_rank() } -> std::convertible_to<int>;
  { team.cluster_size() } -> std::convertible_to<int>;
  team.cluster_barrier();
  { team.scratch_of(0, own) } -> std::same_as<std::uint32_t*>;
  team.add_to(0, own, 1u);
};

/// Returns the reduction of one value per team, in the order of ranks, to every thread of the cluster.
///
/// Must be called by all threads and lanes of all teams of the cluster. `own`: the team's value, at the same place of
/// every team's scratch; any thread may have written it, without a barrier before the call. It is not changed.
/// Barriers: two of the cluster. After the second one no team reads another team's scratch, so that teams may end.
/// Operator: associative.
///
/// Example, three teams, sum: 3 1 4 -> 8 for all threads of the three.
template <Cluster M, class T, class Op>
[[nodiscard]] KOKKOS_FUNCTION T cluster_reduce(M const& team, T* own, Op const& op) {
  team.cluster_barrier();
  T result = *team.scratch_of(0, own);
  for (int rank = 1; rank < team.cluster_size(); ++rank) result = op(result, *team.scratch_of(rank, own));
  team.cluster_barrier();
  return result;
}

}  // namespace tessera::team
