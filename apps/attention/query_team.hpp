#pragma once
/// \file
/// The kernel of fixed_length and any_length: one team per query, whose scores stay in the team's scratch. The code
/// asks the Views for their extents; only the Views' types decide whether the extents are known at compile time or at
/// run time.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>

#include "problem.hpp"

#include <tessera/core/problem.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::attention {

/// A matrix of `Data`: `T const**`, or `T const[64][16]` with both extents known to the compiler.
template <class Data, class Exec>
using MatrixOf =
    Kokkos::View<Data, Kokkos::LayoutRight, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// \tparam Keys type of k and v, MatrixOf
/// \tparam Queries type of q, MatrixOf
/// \tparam Answers type of out, MatrixOf
template <class Exec, class T, class Keys, class Queries, class Answers>
struct QueryTeam {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Weights = ScratchView<T*, Exec>;

  Queries q;
  Keys k;
  Keys v;
  Answers out;
  T scale;

  KOKKOS_FUNCTION void operator()(typename Policy::member_type const& team) const {
    int const b = team.league_rank();
    int const keys = static_cast<int>(k.extent(0));
    int const dim = static_cast<int>(k.extent(1));
    Weights const weight(team.team_scratch(0), keys);
    T max;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, keys),
        [&](int j, T& largest) {
          T sum = 0;
          for (int c = 0; c < dim; ++c) sum += q(b, c) * k(j, c);
          weight(j) = scale * sum;
          if (weight(j) > largest) largest = weight(j);
        },
        Kokkos::Max<T>(max));
    T total;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, keys),
        [&](int j, T& sum) {
          weight(j) = Kokkos::exp(weight(j) - max);
          sum += weight(j);
        },
        total);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, keys), [&](int j) { weight(j) /= total; });
    team.team_barrier();  // all weights are in scratch
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, dim), [&](int c) {
      T sum = 0;
      for (int j = 0; j < keys; ++j) sum += weight(j) * v(j, c);
      out(b, c) = sum;
    });
    leave_scratch(team);
  }
};

/// Enqueues QueryTeam on these Views.
template <class T, class Exec, class Queries, class Keys, class Answers>
void attend_by_teams(std::string const& label, Exec const& exec, int threads, Queries const& q, Keys const& k,
                     Keys const& v, Answers const& out, T scale) {
  using Kernel = QueryTeam<Exec, T, Keys, Queries, Answers>;
  Kokkos::parallel_for(label,
                       with_scratch(typename Kernel::Policy(exec, league_of(q.extent(0)), threads),
                                    Kernel::Weights::shmem_size(k.extent(0))),
                       Kernel{q, k, v, out, scale});
}

/// Returns the threads per team: --team, or a warp on a GPU, because there are few keys.
template <ExecutionSpace Exec, class T>
[[nodiscard]] int threads_of_query(Exec const& exec, InputOn<Attention, Exec, T> const& input) {
  int const threads = kernels::team_size(exec, input.parameters.team);
  return input.parameters.team == 0 && is_gpu<Exec> ? 32 : threads;
}

}  // namespace tessera::attention
