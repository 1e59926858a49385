/// \file
/// The plain Kokkos answer: one index per element of c sums its K products.

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::matmul {

struct Naive {
  static constexpr VariantInfo info{.name = "naive",
                                    .level = Level::range,
                                    .summary = "Kokkos::parallel_for over the elements of c, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T const**, Exec> const& b,
                  ArrayOn<T**, Exec> const& c) {
    if (c.size() == 0) return;
    // Columns are the first, fastest index: neighbouring threads of a GPU read neighbouring columns of b.
    Kokkos::parallel_for(
        "tessera::matmul::naive::product",
        kernels::columns_first<std::int64_t>(
            exec, {.rows = c.extent(0), .cols = c.extent(1), .tile_rows = 8, .tile_cols = 32}),
        KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) {
          Accumulator<T> sum = 0;
          for (std::size_t i = 0; i < a.extent(1); ++i) sum += collective::product(a(row, i), b(i, col));
          c(row, col) = static_cast<T>(sum);
        });
  }
};
VariantRows naive() { return rows<Matmul, Naive>(); }

}  // namespace tessera::matmul
