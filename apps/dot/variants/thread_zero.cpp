/// \file
/// The simplest sum of a team: all threads write their products to scratch, and one thread adds them up while the
/// others wait. Every team adds its result to the output atomically; a separate launch sets the output to zero first.

#include <algorithm>

#include "../problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::dot {

struct ThreadZero {
  static constexpr VariantInfo info{.name = "thread_zero",
                                    .level = Level::team,
                                    .summary = "products in team scratch, one thread sums them, teams added by atomics",
                                    .deterministic = false,
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    static constexpr bool atomic_sums = true;

    using Policy = Kokkos::TeamPolicy<Exec>;
    using Sum = Accumulator<T>;
    using Products = ScratchView<Sum*, Exec>;

    Plan(Exec const& exec, InputOn<Dot, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)),
          chunks_(kernels::chunks_of(exec, input.a.extent(0), tile_of(threads_), threads_)) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                    ArrayOn<T, Exec> const& output) const {
      auto const out = total_.of(output);
      auto const chunks = chunks_;
      auto const tile = tile_of(threads_);
      Kokkos::deep_copy(exec, out, Sum(0));
      Policy const policy = with_scratch(Policy(exec, chunks.count, threads_), Products::shmem_size(tile));
      Kokkos::parallel_for(
          "tessera::dot::thread_zero::sum", policy, KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            Products const products(team.team_scratch(0), tile);
            std::size_t const end = chunks.end(team.league_rank());
            Sum sum = 0;  // used by thread 0 only
            for (std::size_t begin = chunks.begin(team.league_rank()); begin < end; begin += tile) {
              std::size_t const count = Kokkos::min(tile, end - begin);
              Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count),
                                   [&](std::size_t i) { products(i) = product(a(begin + i), b(begin + i)); });
              team.team_barrier();
              if (team.team_rank() == 0) {
                for (std::size_t i = 0; i < count; ++i) sum += products(i);
              }
              leave_scratch(team);
            }
            if (team.team_rank() == 0) Kokkos::atomic_add(&out(), sum);
          });
      total_.store(exec, output);
    }

    /// Counts a product, the team's chunk one element after the other, and at worst one team after the other.
    [[nodiscard]] double rounding_steps() const {
      return 1 + static_cast<double>(std::min(chunks_.size, chunks_.n)) + chunks_.count;
    }

   private:
    /// Returns the number of products that a team holds in scratch.
    [[nodiscard]] static std::size_t tile_of(int threads) { return 4 * static_cast<std::size_t>(threads); }

    int threads_;
    kernels::Chunks chunks_;
    Total<Exec, T> total_{"tessera::dot::thread_zero::total"};
  };
};

VariantRows thread_zero() { return rows<Dot, ThreadZero>(); }

}  // namespace tessera::dot
