/// \file
/// The plain Kokkos answer for --axis all, straight from the formula: a reduction to the maximum, a reduction to the
/// sum of exponentials, and a loop that writes. three_pass_rows and three_pass_columns are the same for other groups.
///
/// Kokkos::Max ignores a NaN. The result is still NaN: the element's exponential is NaN, and so is the sum.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

struct ThreePass {
  static constexpr VariantInfo info{.name = "three_pass",
                                    .level = Level::range,
                                    .summary = "maximum, sum, quotients: three sweeps of plain Kokkos, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    using Memory = typename Exec::memory_space;

    Plan(Exec const&, InputOn<Softmax, Exec, T> const& input) {
      needs_axis(input.parameters, {Axis::all}, "three_pass");
    }

    void operator()(Exec const& exec, ArrayOn<T const**, Exec> const& in, ArrayOn<T**, Exec> const& out,
                    Softmax::Parameters const& parameters) const {
      if (in.size() == 0) return;
      auto const x = groups_of(in, parameters);
      auto const y = groups_of(out, parameters);
      auto const max = max_;
      auto const sum = sum_;
      auto const elements = over(exec, x.extent(1));
      Kokkos::parallel_reduce(
          "tessera::softmax::three_pass::max", elements,
          KOKKOS_LAMBDA(std::size_t i, T& largest) {
            if (x(0, i) > largest) largest = x(0, i);
          },
          Kokkos::Max<T, Memory>(max));
      Kokkos::parallel_reduce(
          "tessera::softmax::three_pass::sum", elements,
          KOKKOS_LAMBDA(std::size_t i, T& total) { total += Kokkos::exp(x(0, i) - max()); }, sum);
      Kokkos::parallel_for(
          "tessera::softmax::three_pass::write", elements,
          KOKKOS_LAMBDA(std::size_t i) { y(0, i) = Kokkos::exp(x(0, i) - max()) / sum(); });
    }

   private:
    Kokkos::View<T, Memory> max_{"tessera::softmax::three_pass::max"};
    Kokkos::View<T, Memory> sum_{"tessera::softmax::three_pass::sum"};
  };
};

VariantRows three_pass() { return rows<Softmax, ThreePass>(); }

}  // namespace tessera::softmax
