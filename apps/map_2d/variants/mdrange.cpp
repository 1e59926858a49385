/// \file
/// The plain Kokkos answer in two dimensions: parallel_for over an MDRange, elements by View access. The column is the
/// first index: neighbouring threads of a GPU take neighbouring columns, and Iterate::Left makes the column a host's
/// inner loop. With the row first, neighbouring threads would access elements a row apart.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

struct Mdrange {
  static constexpr VariantInfo info{.name = "mdrange",
                                    .level = Level::range,
                                    .summary = "Kokkos::MDRangePolicy over columns and rows, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T**, Exec> const& out,
                  Parameters const& parameters) {
    AddConstant<T> const add{static_cast<T>(parameters.c)};
    using Policy = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                                         Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for(
        "tessera::map_2d::mdrange::add", Policy(exec, {0, 0}, {a.extent(1), a.extent(0)}),
        KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { out(row, col) = add(a(row, col)); });
  }
};

VariantRows mdrange() { return rows<Map2d, Mdrange>(); }

}  // namespace tessera::map_2d
