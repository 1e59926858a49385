/// \file
/// Slow on purpose: neighbouring indices add elements that are 512 apart. On a GPU each element that a warp accesses
/// lies in a sector of its own, so memory moves whole sectors for single elements. When a later walk through the arrays
/// needs the rest of a sector, it has left the caches, unless the arrays fit into them.

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::zip {

struct Strided {
  static constexpr VariantInfo info{.name = "strided",
                                    .level = Level::range,
                                    .summary = "neighbouring indices are 512 elements apart: slow on purpose",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                  ArrayOn<T*, Exec> const& out) {
    constexpr std::size_t stride = 512;
    std::size_t const n = a.extent(0);
    std::size_t const walk = tiles_of(n, stride);  // indices of one walk through the arrays
    Kokkos::parallel_for(
        "tessera::zip::strided::add", over(exec, walk * stride), KOKKOS_LAMBDA(std::size_t i) {
          std::size_t const element = i % walk * stride + i / walk;
          if (element < n) out(element) = Add<T>{}(a(element), b(element));
        });
  }
};

VariantRows strided() { return rows<Zip, Strided>(); }

}  // namespace tessera::zip
