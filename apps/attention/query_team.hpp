#pragma once
/// \file
/// The kernel of fixed_length and any_length: one team per query, whose scores stay in the team's scratch. The code
/// asks the Views for their extents; only the Views' types decide whether the extents are known at compile time or at
/// run time.

#include <Kokkos_Core.hpp>

#include <string>

#include "problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

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

/// The common part of both Plans. Teams have --team threads, or a warp on a GPU, because there are few keys.
template <ExecutionSpace Exec, class T>
class QueryTeamPlan {
 public:
  QueryTeamPlan(Exec const& exec, InputOn<Attention, Exec, T> const& in)
      : threads_(is_gpu<Exec> && in.parameters.team == 0 ? 32 : kernels::team_size(exec, in.parameters.team)),
        keys_(static_cast<double>(in.k.extent(0))) {}

  /// Two chains over all keys: the sum of weights and the sum of weighted values.
  [[nodiscard]] double rounding_steps() const { return 2 * keys_ + 8; }

 protected:
  /// Enqueues QueryTeam on these Views.
  template <class Queries, class Keys, class Answers>
  void attend(std::string const& label, Exec const& exec, Queries const& q, Keys const& k, Keys const& v,
              Answers const& out, double scale) const {
    using Kernel = QueryTeam<Exec, T, Keys, Queries, Answers>;
    typename Kernel::Policy const policy(exec, league_of(q.extent(0)), threads_);
    Kokkos::parallel_for(label, with_scratch(policy, Kernel::Weights::shmem_size(k.extent(0))),
                         Kernel{q, k, v, out, static_cast<T>(scale)});
  }

 private:
  int threads_;
  double keys_;
};

}  // namespace tessera::attention
