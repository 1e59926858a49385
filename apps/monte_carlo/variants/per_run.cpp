/// \file
/// A run of 64 points per index, summed in a register. A counter has two random points, or four normal numbers; the
/// next Sobol point needs one direction number, because its Gray code differs in one bit.

#include <concepts>
#include <cstdint>

#include "../estimate.hpp"
#include "../points.hpp"

#include <tessera/core/tiles.hpp>

namespace tessera::monte_carlo {

struct PerRun {
  static constexpr VariantInfo info{.name = "per_run",
                                    .level = Level::range,
                                    .summary = "64 points per index: whole counters, one direction number per point",
                                    .lesson = true};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan : public EstimatePlan<Exec, T> {
   public:
    Plan(Exec const&, InputOn<MonteCarlo, Exec, T> const& input)
        : Plan::EstimatePlan(input.parameters, "tessera::monte_carlo::per_run") {}

    void operator()(Exec const& exec, InputOn<MonteCarlo, Exec, T> const& input,
                    OutputOn<MonteCarlo, Exec, T> const& output) {
      with_points<T>(input.parameters, [&](auto const& points, auto const& value) {
        for (std::size_t r = 0; r < replicates; ++r) {
          sum_runs(exec, points, value, r, points_of(r, input.parameters.count), output.sums.data() + r);
        }
      });
      this->finish(exec, output);
    }

    template <class Points, class Value>
    static void sum_runs(Exec const& exec, Points const& points, Value const& value, std::size_t r, ranks::Block own,
                         std::int64_t* to) {
      std::uint64_t const first = own.begin;
      std::uint64_t const count = own.size();
      std::uint64_t const run = 64;
      Kokkos::parallel_reduce(
          "tessera::monte_carlo::per_run::sum", over(exec, tiles_of(count, run)),
          KOKKOS_LAMBDA(std::uint64_t index, std::int64_t& sum) {
            std::uint64_t const end = Kokkos::min((index + 1) * run, count);
            points.for_each(r, first, index * run, end, [&](auto const& point) { sum += value(point); });
          },
          Kokkos::View<std::int64_t, typename Exec::memory_space, Kokkos::MemoryUnmanaged>(to));
    }
  };
};

VariantRows per_run() { return rows<MonteCarlo, PerRun>(); }

}  // namespace tessera::monte_carlo
