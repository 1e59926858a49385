/// \file
/// The plain Kokkos answer: parallel_for over an MDRange, elements by View access. The column is the first index:
/// neighbouring threads of a GPU take neighbouring columns, and Iterate::Left makes the column a host's inner loop.
/// With the row first, neighbouring threads would access elements a row apart.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::broadcast_add {

struct Mdrange {
  static constexpr VariantInfo info{.name = "mdrange",
                                    .level = Level::range,
                                    .summary = "Kokkos::MDRangePolicy over columns and rows, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                  ArrayOn<T**, Exec> const& out) {
    using Policy = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                                         Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for(
        "tessera::broadcast_add::mdrange::add", Policy(exec, {0, 0}, {a.extent(0), b.extent(0)}),
        KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { out(row, col) = Add<T>{}(a(col), b(row)); });
  }
};

VariantRows mdrange() { return rows<BroadcastAdd, Mdrange>(); }

}  // namespace tessera::broadcast_add
