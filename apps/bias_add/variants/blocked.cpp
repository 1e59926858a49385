/// \file
/// mdrange with explicit tiles, as wide as the rows allow: 256 threads on a GPU; on a host as much as a thread's caches
/// hold.

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::bias_add {

struct Blocked {
  static constexpr VariantInfo info{
      .name = "blocked", .level = Level::range, .summary = "mdrange with tiles as wide as the rows allow"};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const**, Exec> const& x, ArrayOn<T const*, Exec> const& bias,
                  ArrayOn<T**, Exec> const& y) {
    if (x.size() == 0) return;
    Kokkos::parallel_for(
        "tessera::bias_add::blocked::add",
        kernels::columns_first<std::int64_t>(exec, kernels::mdrange_tiles<Exec>(x.extent(0), x.extent(1))),
        KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { y(row, col) = Add<T>{}(x(row, col), bias(col)); });
  }
};

VariantRows blocked() { return rows<BiasAdd, Blocked>(); }

}  // namespace tessera::bias_add
