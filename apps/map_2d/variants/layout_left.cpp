/// \file
/// The same memory through a column-major View: a matrix [rows, cols] in C order is [cols, rows] in Fortran order. No
/// element moves; only the indices are exchanged.

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

struct LayoutLeft {
  static constexpr VariantInfo info{
      .name = "layout_left", .level = Level::range, .summary = "a column-major View [cols, rows] of the same memory"};

  template <ExecutionSpace Exec, class Value>
  using View =
      Kokkos::View<Value**, Kokkos::LayoutLeft, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T**, Exec> const& out,
                  Parameters const& parameters) {
    AddConstant<T> const add{static_cast<T>(parameters.c)};
    auto const tiles = kernels::mdrange_tiles<Exec>(a.extent(0), a.extent(1));
    if (a.size() == 0) return;
    View<Exec, T const> const from(a.data(), tiles.cols, tiles.rows);
    View<Exec, T> const to(out.data(), tiles.cols, tiles.rows);
    Kokkos::parallel_for(
        "tessera::map_2d::layout_left::add", kernels::columns_first<std::int64_t>(exec, tiles),
        KOKKOS_LAMBDA(std::int64_t x, std::int64_t y) { to(x, y) = add(from(x, y)); });
  }
};

VariantRows layout_left() { return rows<Map2d, LayoutLeft>(); }

}  // namespace tessera::map_2d
