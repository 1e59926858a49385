/// \file
/// direct with explicit tiles, as wide as the rows allow: 256 threads on a GPU; on a host as much as a thread's caches
/// hold.

#include "../problem.hpp"

#include <tessera/collective/accumulator.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv2d {

struct Blocked {
  static constexpr VariantInfo info{
      .name = "blocked", .level = Level::range, .summary = "direct with tiles as wide as the rows allow"};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const**, Exec> const& in, ArrayOn<T const**, Exec> const& k,
                  ArrayOn<T**, Exec> const& out) {
    if (in.size() == 0) return;
    auto const rows = static_cast<std::int64_t>(in.extent(0));
    auto const cols = static_cast<std::int64_t>(in.extent(1));
    auto const tap_rows = static_cast<std::int64_t>(k.extent(0));
    auto const tap_cols = static_cast<std::int64_t>(k.extent(1));
    Kokkos::parallel_for(
        "tessera::conv2d::blocked::sum",
        kernels::columns_first<std::int64_t>(exec, kernels::mdrange_tiles<Exec>(in.extent(0), in.extent(1))),
        KOKKOS_LAMBDA(std::int64_t x, std::int64_t y) {
          std::int64_t const end_y = tap_rows < rows - y ? tap_rows : rows - y;
          std::int64_t const end_x = tap_cols < cols - x ? tap_cols : cols - x;
          collective::Accumulator<T> sum = 0;
          for (std::int64_t ky = 0; ky < end_y; ++ky) {
            for (std::int64_t kx = 0; kx < end_x; ++kx) sum += collective::product(in(y + ky, x + kx), k(ky, kx));
          }
          out(y, x) = static_cast<T>(sum);
        });
  }
};

VariantRows blocked() { return rows<Conv2d, Blocked>(); }

}  // namespace tessera::conv2d
