/// \file
/// Whole tiles without a guard, and one tile with a guard: the condition is taken out of the loop over a tile's
/// elements. In a whole tile the compiler knows the number of steps and unrolls that loop, or vectorizes it on a host.
/// A group of neighbouring indices shares a tile, so that a GPU's lanes access neighbouring elements.

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::zip {

struct Unswitched {
  static constexpr VariantInfo info{.name = "unswitched",
                                    .level = Level::range,
                                    .summary = "whole tiles without a guard, the last one with a guard",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                  ArrayOn<T*, Exec> const& out, Parameters const&) {
    constexpr std::size_t group = is_gpu<Exec> ? 128 : 1;  // indices that share a tile
    constexpr std::size_t each = is_gpu<Exec> ? 4 : 512;   // elements of an index, `group` apart
    std::size_t const n = a.extent(0);
    Kokkos::parallel_for(
        "tessera::zip::unswitched::add", over(exec, tiles_of(n, group * each) * group), KOKKOS_LAMBDA(std::size_t i) {
          std::size_t const tile = i / group * group * each;
          std::size_t const first = tile + i % group;
          if (tile + group * each <= n) {
            for (std::size_t k = 0; k < each; ++k) {
              out(first + k * group) = Add<T>{}(a(first + k * group), b(first + k * group));
            }
          } else {
            for (std::size_t at = first; at < n; at += group) out(at) = Add<T>{}(a(at), b(at));
          }
        });
  }
};

VariantRows unswitched() { return rows<Zip, Unswitched>(); }

}  // namespace tessera::zip
