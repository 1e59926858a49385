/// \file
/// Raw pointers and row * cols + col, in 32 bits if the matrix is small enough, as in the book's kernels.

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

struct Pointer {
  static constexpr VariantInfo info{
      .name = "pointer", .level = Level::range, .summary = "raw pointers, row * cols + col in 32 bits if that fits"};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T**, Exec> const& out,
                  Parameters const& parameters) {
    if (a.size() == 0) return;
    auto const tiles = kernels::mdrange_tiles<Exec>(a.extent(0), a.extent(1));
    AddConstant<T> const add{static_cast<T>(parameters.c)};
    if (a.size() <= std::size_t{1} << 30) {
      enqueue<std::int32_t>(exec, a.data(), out.data(), tiles, add);
    } else {
      enqueue<std::int64_t>(exec, a.data(), out.data(), tiles, add);
    }
  }

  template <class Index, class Exec, class T>
  static void enqueue(Exec const& exec, T const* a, T* out, collective::MatrixTiles const& tiles,
                      AddConstant<T> const& add) {
    auto const cols = static_cast<Index>(tiles.cols);
    Kokkos::parallel_for(
        "tessera::map_2d::pointer::add", kernels::columns_first<Index>(exec, tiles),
        KOKKOS_LAMBDA(Index col, Index row) { out[row * cols + col] = add(a[row * cols + col]); });
  }
};

VariantRows pointer() { return rows<Map2d, Pointer>(); }

}  // namespace tessera::map_2d
