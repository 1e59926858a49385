/// \file
/// The plain Kokkos answer: one index per output sums its products.

#include <cstddef>

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

struct Plain {
  static constexpr VariantInfo info{
      .name = "plain", .level = Level::range, .summary = "one output per index, the baseline", .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& k,
                  ArrayOn<T*, Exec> const& out) {
    Kokkos::parallel_for(
        "tessera::conv1d::plain::sum", over(exec, a.extent(0)), KOKKOS_LAMBDA(std::size_t i) {
          Accumulator<T> sum = 0;
          for (std::size_t j = 0; j < k.extent(0) && i + j < a.extent(0); ++j) sum += product(a(i + j), k(j));
          out(i) = static_cast<T>(sum);
        });
  }
};

VariantRows plain() { return rows<Conv1d, Plain>(); }

}  // namespace tessera::conv1d
