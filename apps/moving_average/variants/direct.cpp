/// \file
/// The baseline: one index per element, which reads its neighbours from memory.

#include "../problem.hpp"

#include <tessera/collective/segments.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::moving_average {

struct Direct {
  static constexpr VariantInfo info{.name = "direct",
                                    .level = Level::range,
                                    .summary = "Kokkos::parallel_for over elements, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, Floating T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& out,
                  MovingAverage::Parameters const& parameters) {
    collective::Segments const segments(in.extent(0), parameters.segment);
    Kokkos::parallel_for(
        "tessera::moving_average::direct::mean", over(exec, in.extent(0)), KOKKOS_LAMBDA(std::size_t i) {
          using A = Arithmetic<T>;
          std::size_t const left = segments.left(i);
          A const second = left > 1 ? A(in(i + 1)) : A(0);
          A const third = left > 2 ? A(in(i + 2)) : A(0);
          out(i) = mean_of(A(in(i)), second, third, left > 2 ? 3 : static_cast<int>(left));
        });
  }
};
VariantRows direct() { return rows<MovingAverage, Direct>(); }

}  // namespace tessera::moving_average
