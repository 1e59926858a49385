/// \file
/// The input with its indices exchanged: a View [cols, rows] of its memory, with strides 1 and cols that are known only
/// at run time, is the transposed matrix without moving any element. It is then copied by rows of the output:
/// neighbouring threads write neighbouring elements and read elements that are a row of the input apart (`naive` does
/// the reverse).
///
/// Example: a = [[1, 2, 3], [4, 5, 6]] with strides 1 and 3 is [[1, 4], [2, 5], [3, 6]].

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transpose {

struct LayoutStride {
  static constexpr VariantInfo info{.name = "layout_stride",
                                    .level = Level::range,
                                    .summary = "a copy from a View with the input's strides exchanged"};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T**, Exec> const& out) {
    using View = Kokkos::View<T const**, Kokkos::LayoutStride, typename Exec::memory_space,
                              Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    if (a.size() == 0) return;
    View const turned(a.data(), Kokkos::LayoutStride(a.extent(1), 1, a.extent(0), a.extent(1)));
    Kokkos::parallel_for(
        "tessera::transpose::layout_stride::move",
        kernels::columns_first<std::int64_t>(exec, kernels::mdrange_tiles<Exec>(a.extent(1), a.extent(0))),
        KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { out(row, col) = turned(row, col); });
  }
};

VariantRows layout_stride() { return rows<Transpose, LayoutStride>(); }

}  // namespace tessera::transpose
