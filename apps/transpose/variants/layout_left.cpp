/// \file
/// A transposition is a change of layout: [cols, rows] stored by rows has the same memory order as [rows, cols] stored
/// by columns. So the output is taken as a LayoutLeft View with the input's extents, and Kokkos::deep_copy copies each
/// element to the same indices, in an order that Kokkos chooses.
///
/// Example: a = [[1, 2, 3], [4, 5, 6]] stored by columns is 1 4 2 5 3 6, which read by rows is [[1, 4], [2, 5], [3,
/// 6]].

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::transpose {

struct LayoutLeft {
  static constexpr VariantInfo info{.name = "layout_left",
                                    .level = Level::library,
                                    .summary = "Kokkos::deep_copy to a column-major View of the output's memory"};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T**, Exec> const& out) {
    using Memory = typename Exec::memory_space;
    using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
    if (a.size() == 0) return;
    Kokkos::View<T const**, Kokkos::LayoutRight, Memory, Unmanaged> const by_rows(a.data(), a.extent(0), a.extent(1));
    Kokkos::View<T**, Kokkos::LayoutLeft, Memory, Unmanaged> const by_columns(out.data(), a.extent(0), a.extent(1));
    Kokkos::deep_copy(exec, by_columns, by_rows);
  }
};

VariantRows layout_left() { return rows<Transpose, LayoutLeft>(); }

}  // namespace tessera::transpose
