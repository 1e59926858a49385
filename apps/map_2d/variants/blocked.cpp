/// \file
/// mdrange with explicit tiles, as wide as the rows allow: 256 threads on a GPU; on a host as much as a thread's caches
/// hold. Kokkos' default on CUDA can be 16 x 2 threads: with a single row half of them are idle.

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

struct Blocked {
  static constexpr VariantInfo info{
      .name = "blocked", .level = Level::range, .summary = "mdrange with tiles as wide as the rows allow"};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T**, Exec> const& out,
                  Parameters const& parameters) {
    AddConstant<T> const add{static_cast<T>(parameters.c)};
    if (a.size() == 0) return;
    Kokkos::parallel_for(
        "tessera::map_2d::blocked::add",
        kernels::columns_first<std::int64_t>(exec, kernels::mdrange_tiles<Exec>(a.extent(0), a.extent(1))),
        KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { out(row, col) = add(a(row, col)); });
  }
};

VariantRows blocked() { return rows<Map2d, Blocked>(); }

}  // namespace tessera::map_2d
