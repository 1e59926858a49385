/// \file
/// The plain Kokkos answer, and the book's kernel: one index per element, which reads the bias of its column. The
/// column is the first index: neighbouring threads of a GPU take neighbouring columns, and Iterate::Left makes the
/// column a host's inner loop.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::bias_add {

struct Mdrange {
  static constexpr VariantInfo info{.name = "mdrange",
                                    .level = Level::range,
                                    .summary = "Kokkos::MDRangePolicy over columns and rows, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const**, Exec> const& x, ArrayOn<T const*, Exec> const& bias,
                  ArrayOn<T**, Exec> const& y) {
    using Policy = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                                         Kokkos::IndexType<std::int64_t>>;
    if (x.size() == 0) return;
    Kokkos::parallel_for(
        "tessera::bias_add::mdrange::add", Policy(exec, {0, 0}, {x.extent(1), x.extent(0)}),
        KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { y(row, col) = Add<T>{}(x(row, col), bias(col)); });
  }
};

VariantRows mdrange() { return rows<BiasAdd, Mdrange>(); }

}  // namespace tessera::bias_add
