/// \file
/// A tree in scratch: every thread sums its share of the team's chunk, the team folds the threads' sums, neighbours
/// first (strides double: interleaved addressing, collective/team/tree_reduce.hpp), and every team adds its result to the
/// output atomically (the output is set to zero first, by a launch of its own).

#include <cmath>

#include "../problem.hpp"

#include <tessera/collective/operators.hpp>
#include <tessera/collective/team/tree_reduce.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/kernels/chunks.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::dot {

struct TeamTree {
  static constexpr VariantInfo info{.name = "team_tree",
                                    .level = Level::team,
                                    .summary = "tree in team scratch, strides double; teams added by atomics",
                                    .deterministic = false};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    static constexpr bool atomic_sums = true;

    using Policy = Kokkos::TeamPolicy<Exec>;
    using Sum = Accumulator<T>;
    using Sums = ScratchView<Sum*, Exec>;

    Plan(Exec const& exec, InputOn<Dot, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)),
          chunks_(kernels::chunks_of(exec, input.a.extent(0), 16 * static_cast<std::size_t>(threads_), threads_)) {}

    void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& input, OutputOn<Dot, Exec, T> const& output) const {
      auto const a = input.a;
      auto const b = input.b;
      auto const out = total_.of(output.out);
      auto const chunks = chunks_;
      Kokkos::deep_copy(exec, out, Sum(0));
      Policy policy(exec, chunks.count, threads_);
      policy = with_scratch(policy, Sums::shmem_size(threads_));
      Kokkos::parallel_for(
          "tessera::dot::team_tree::sum", policy, KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            Sums const sums(team.team_scratch(0), team.team_size());
            std::size_t const end = chunks.end(team.league_rank());
            Sum sum = 0;
            // Neighbouring threads read neighbouring elements.
            for (std::size_t i = chunks.begin(team.league_rank()) + team.team_rank(); i < end; i += team.team_size()) {
              sum += product(a(i), b(i));
            }
            sums(team.team_rank()) = sum;
            team::tree_reduce(team, sums.data(), team.team_size(), collective::Sum<Sum>{});
            if (team.team_rank() == 0) Kokkos::atomic_add(&out(), sums(0));
            leave_scratch(team);
          });
      total_.store(exec, output.out);
    }

    /// A product, a thread's share, the tree, and at worst one team after the other.
    [[nodiscard]] double rounding_steps() const {
      return 1 + std::ceil(static_cast<double>(chunks_.size) / threads_) + std::ceil(std::log2(threads_)) +
             chunks_.count;
    }

   private:
    int threads_;
    kernels::Chunks chunks_;
    Total<Exec, T> total_{"tessera::dot::team_tree::total"};
  };
};

VariantRows team_tree() { return rows<Dot, TeamTree>(); }

}  // namespace tessera::dot
