#pragma once
/// \file
/// The kernel of cluster_sum: each cluster of teams sums one chunk.

#include <Kokkos_Core.hpp>

#include <cstddef>

#include "problem.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/team/cluster.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>

namespace tessera::dot {

/// Lanes sum neighbouring products, the lanes of a thread exchange their sums, an elected lane stores the thread's sum
/// in scratch, and the first thread of a team adds these. Then each team reads the sums of the others of its cluster in
/// their scratch, and one lane adds the cluster's sum to the output, which must be zero.
template <class Exec, class T, class Lanes>
struct ClusterSumKernel {
  using Sum = Accumulator<T>;
  using Sums = ScratchView<Sum*, Exec>;

  T const* a;
  T const* b;
  Sum* out;
  kernels::Chunks chunks;  // one per cluster

  /// \param threads per team
  [[nodiscard]] static std::size_t scratch_bytes(int threads) { return Sums::shmem_size(threads); }

  template <team::Cluster Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    Sums const sums(team.team_scratch(0), team.team_size());
    int const cluster = team.league_rank() / team.cluster_size();
    std::size_t const end = chunks.end(cluster);
    std::size_t const step = static_cast<std::size_t>(team.cluster_size()) * team.team_size() * Lanes::width;
    std::size_t const first =
        (static_cast<std::size_t>(team.cluster_rank()) * team.team_size() + team.team_rank()) * Lanes::width;
    auto of_lane = lanes.template fill<Sum>(0);
    lanes.each(
        [&](int lane, Sum& sum) {
          for (std::size_t i = chunks.begin(cluster) + first + lane; i < end; i += step) sum += product(a[i], b[i]);
        },
        of_lane);
    Sum const of_thread = thread::reduce<Sum>(lanes, of_lane, collective::Sum<Sum>{});
    auto const elected = lanes.elect();
    lanes.each(
        [&](int, bool is_elected) {
          if (is_elected) sums(team.team_rank()) = of_thread;
        },
        elected);
    team.team_barrier();
    lanes.each(
        [&](int, bool is_elected) {
          if (!is_elected || team.team_rank() != 0) return;
          for (int thread = 1; thread < team.team_size(); ++thread) sums(0) += sums(thread);
        },
        elected);
    Sum const of_cluster = team::cluster_reduce(team, sums.data(), collective::Sum<Sum>{});
    lanes.each(
        [&](int, bool is_elected) {
          bool const adds = is_elected && team.team_rank() == 0 && team.cluster_rank() == 0;
          if (adds) Kokkos::atomic_add(out, of_cluster);
        },
        elected);
  }
};

}  // namespace tessera::dot
