/// \file
/// One point per index: a parallel_reduce over the points of each replicate. A random point computes a counter's four
/// words and uses two of them; a Sobol point combines all its direction numbers.

#include <concepts>
#include <cstdint>

#include "../estimate.hpp"
#include "../points.hpp"

namespace tessera::monte_carlo {

struct PerPoint {
  static constexpr VariantInfo info{.name = "per_point",
                                    .level = Level::range,
                                    .summary = "one point per index, a parallel_reduce per replicate, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan : public EstimatePlan<Exec, T> {
   public:
    Plan(Exec const&, InputOn<MonteCarlo, Exec, T> const& input)
        : Plan::EstimatePlan(input.parameters, "tessera::monte_carlo::per_point") {}

    void operator()(Exec const& exec, InputOn<MonteCarlo, Exec, T> const& input,
                    OutputOn<MonteCarlo, Exec, T> const& output) {
      with_points<T>(input.parameters, [&](auto const& points, auto const& value) {
        for (std::size_t r = 0; r < replicates; ++r) {
          sum_replicate(exec, points, value, r, points_of(r, input.parameters.count), output.sums.data() + r);
        }
      });
      this->finish(exec, output);
    }

    // A separate function, because nvcc accepts no device lambda inside a generic lambda.
    template <class Points, class Value>
    static void sum_replicate(Exec const& exec, Points const& points, Value const& value, std::size_t r,
                              ranks::Block own, std::int64_t* to) {
      std::uint64_t const first = own.begin;
      Kokkos::parallel_reduce(
          "tessera::monte_carlo::per_point::sum", over(exec, own.size()),
          KOKKOS_LAMBDA(std::uint64_t j, std::int64_t& sum) { sum += value(points.at(r, first, j)); },
          Kokkos::View<std::int64_t, typename Exec::memory_space, Kokkos::MemoryUnmanaged>(to));
    }
  };
};

VariantRows per_point() { return rows<MonteCarlo, PerPoint>(); }

}  // namespace tessera::monte_carlo
