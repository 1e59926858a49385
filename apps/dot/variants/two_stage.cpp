/// \file
/// Two launches and no atomics: each team writes the sum of its chunk, then one team adds the chunks' sums. The chunks
/// depend only on the size and the machine, so every run gives the same bits.

#include <cmath>

#include "../problem.hpp"

#include <tessera/collective/operators.hpp>
#include <tessera/collective/team/tree_reduce.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::dot {

struct TwoStage {
  static constexpr VariantInfo info{.name = "two_stage",
                                    .level = Level::team,
                                    .summary = "one sum per chunk, then their sum: same bits on every run"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    using Member = typename Policy::member_type;
    using Sum = Accumulator<T>;
    using Sums = ScratchView<Sum*, Exec>;

    Plan(Exec const& exec, InputOn<Dot, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)),
          chunks_(kernels::chunks_of(exec, input.a.extent(0), 16 * static_cast<std::size_t>(threads_), threads_)),
          partial_(unset("tessera::dot::two_stage::partial"), chunks_.count) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                    ArrayOn<T, Exec> const& out) const {
      auto const partial = partial_;
      auto const chunks = chunks_;
      Kokkos::parallel_for(
          "tessera::dot::two_stage::chunks", policy(exec, chunks.count), KOKKOS_LAMBDA(Member const& team) {
            std::size_t const begin = chunks.begin(team.league_rank());
            auto const count = static_cast<std::int64_t>(chunks.end(team.league_rank()) - begin);
            Sum const sum = team_sum(team, count, [&](std::int64_t i) { return product(a(begin + i), b(begin + i)); });
            if (team.team_rank() == 0) partial(team.league_rank()) = sum;
          });
      Kokkos::parallel_for(
          "tessera::dot::two_stage::total", policy(exec, 1), KOKKOS_LAMBDA(Member const& team) {
            Sum const sum = team_sum(team, chunks.count, [&](std::int64_t i) { return partial(i); });
            if (team.team_rank() == 0) out() = static_cast<T>(sum);
          });
    }

    /// Returns term(0) + ... + term(count - 1), summed by one team in a fixed order, to every thread: four sums per
    /// thread, so that four loads are in flight, then the tree. Must be called by all threads of the team.
    template <class Term>
    KOKKOS_FUNCTION static Sum team_sum(Member const& team, std::int64_t count, Term const& term) {
      Sums const sums(team.team_scratch(0), team.team_size());
      int const step = team.team_size();
      Sum of_thread[4] = {};
      std::int64_t i = team.team_rank();
      for (; i + 3 * step < count; i += 4 * step) {
        for (int k = 0; k < 4; ++k) of_thread[k] += term(i + k * step);
      }
      for (; i < count; i += step) of_thread[0] += term(i);
      sums(team.team_rank()) = (of_thread[0] + of_thread[1]) + (of_thread[2] + of_thread[3]);
      team::tree_reduce(team, sums.data(), step, collective::Sum<Sum>{});
      Sum const result = sums(0);
      leave_scratch(team);
      return result;
    }

    /// Counts a product, a thread's part of a chunk and the tree; then the same over the chunks.
    [[nodiscard]] double rounding_steps() const {
      double const tree = std::ceil(std::log2(threads_)) + 2;
      return 1 + std::ceil(static_cast<double>(chunks_.size) / threads_) + tree +
             std::ceil(static_cast<double>(chunks_.count) / threads_) + tree;
    }

   private:
    [[nodiscard]] Policy policy(Exec const& exec, int league) const {
      return with_scratch(Policy(exec, league, threads_), Sums::shmem_size(threads_));
    }

    int threads_;
    kernels::Chunks chunks_;
    Kokkos::View<Sum*, typename Exec::memory_space> partial_;
  };
};

VariantRows two_stage() { return rows<Dot, TwoStage>(); }

}  // namespace tessera::dot
