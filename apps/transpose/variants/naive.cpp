/// \file
/// The plain Kokkos answer: parallel_for over an MDRange of the input. Neighbouring threads read neighbouring elements
/// and write elements that are a row of the output apart: a warp's stores are not coalesced, and a host accesses a
/// cache line of the output again for each of its elements.

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transpose {

struct Naive {
  static constexpr VariantInfo info{.name = "naive",
                                    .level = Level::range,
                                    .summary = "Kokkos::MDRangePolicy over the input, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T**, Exec> const& out) {
    if (a.size() == 0) return;
    Kokkos::parallel_for(
        "tessera::transpose::naive::move",
        kernels::columns_first<std::int64_t>(exec, kernels::mdrange_tiles<Exec>(a.extent(0), a.extent(1))),
        KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { out(col, row) = a(row, col); });
  }
};

VariantRows naive() { return rows<Transpose, Naive>(); }

}  // namespace tessera::transpose
