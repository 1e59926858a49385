/// \file
/// The plain Kokkos answer: one thread adds one segment, element by element. Neighbouring threads read far apart, and a
/// long segment keeps one thread busy while all others wait.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::segmented_sum {

struct RowPerThread {
  static constexpr VariantInfo info{.name = "row_per_thread",
                                    .level = Level::range,
                                    .summary = "Kokkos::parallel_for over segments, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& in,
                  ArrayOn<std::int64_t const*, Exec> const& offsets, ArrayOn<T*, Exec> const& out) {
    Kokkos::parallel_for(
        "tessera::segmented_sum::row_per_thread::sum", over(exec, out.extent(0)), KOKKOS_LAMBDA(std::size_t r) {
          Accumulator<T> sum = 0;
          for (std::int64_t i = offsets(r); i < offsets(r + 1); ++i) sum += static_cast<Accumulator<T>>(in(i));
          out(r) = static_cast<T>(sum);
        });
  }
};

VariantRows row_per_thread() { return rows<SegmentedSum, RowPerThread>(); }

}  // namespace tessera::segmented_sum
