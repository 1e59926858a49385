/// \file
/// The same memory through a View whose two strides are known only at run time, as in a subview: the compiler does not
/// know that one stride is 1, and an index costs two multiplications.

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

struct LayoutStride {
  static constexpr VariantInfo info{
      .name = "layout_stride", .level = Level::range, .summary = "a View of the same memory with run-time strides"};

  template <ExecutionSpace Exec, class Value>
  using View =
      Kokkos::View<Value**, Kokkos::LayoutStride, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T**, Exec> const& out,
                  Parameters const& parameters) {
    AddConstant<T> const add{static_cast<T>(parameters.c)};
    auto const tiles = kernels::mdrange_tiles<Exec>(a.extent(0), a.extent(1));
    if (a.size() == 0) return;
    Kokkos::LayoutStride const layout(tiles.rows, tiles.cols, tiles.cols, 1);
    View<Exec, T const> const from(a.data(), layout);
    View<Exec, T> const to(out.data(), layout);
    Kokkos::parallel_for(
        "tessera::map_2d::layout_stride::add", kernels::columns_first<std::int64_t>(exec, tiles),
        KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { to(row, col) = add(from(row, col)); });
  }
};

VariantRows layout_stride() { return rows<Map2d, LayoutStride>(); }

}  // namespace tessera::map_2d
