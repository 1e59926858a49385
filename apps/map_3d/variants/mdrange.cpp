/// \file
/// The plain Kokkos answer in three dimensions: parallel_for over an MDRange. The column is the first index:
/// neighbouring threads of a GPU take neighbouring columns, and Iterate::Left makes the column a host's inner loop.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::map_3d {

struct Mdrange {
  static constexpr VariantInfo info{.name = "mdrange",
                                    .level = Level::range,
                                    .summary = "Kokkos::MDRangePolicy over columns, rows and planes, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const***, Exec> const& a, ArrayOn<T***, Exec> const& out,
                  Map3d::Parameters const& parameters) {
    AddConstant<T> const add{static_cast<T>(parameters.c)};
    using Policy = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<3, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                                         Kokkos::IndexType<std::int64_t>>;
    if (a.size() == 0) return;
    Kokkos::parallel_for(
        "tessera::map_3d::mdrange::add", Policy(exec, {0, 0, 0}, {a.extent(2), a.extent(1), a.extent(0)}),
        KOKKOS_LAMBDA(std::int64_t col, std::int64_t row, std::int64_t plane) {
          out(plane, row, col) = add(a(plane, row, col));
        });
  }
};
VariantRows mdrange() { return rows<Map3d, Mdrange>(); }

}  // namespace tessera::map_3d
