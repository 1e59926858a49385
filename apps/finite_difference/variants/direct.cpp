/// \file
/// The baseline: one index per element, which reads its neighbours from memory.

#include "../problem.hpp"

#include <tessera/collective/segments.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::finite_difference {

struct Direct {
  static constexpr VariantInfo info{.name = "direct",
                                    .level = Level::range,
                                    .summary = "Kokkos::parallel_for over elements, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& out,
                  FiniteDifference::Parameters const& parameters) {
    collective::Segments const segments(in.extent(0), parameters.segment);
    Kokkos::parallel_for(
        "tessera::finite_difference::direct::difference", over(exec, in.extent(0)), KOKKOS_LAMBDA(std::size_t i) {
          std::size_t const left = segments.left(i);
          out(i) = left > 1 ? difference(in(i), in(i + 1)) : T(0);
        });
  }
};

VariantRows direct() { return rows<FiniteDifference, Direct>(); }

}  // namespace tessera::finite_difference
