/// \file
/// Each thread works through its own contiguous tile. That suits a host's thread, whose elements come in cache lines.
/// But neighbouring threads of a GPU then access elements that lie a tile apart: the longer the tile, the more of each
/// cache line is used only in later steps. --tile shows the effect.

#include "../problem.hpp"
#include "../tuning.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::zip {

struct Tiled {
  static constexpr VariantInfo info{.name = "tiled",
                                    .level = Level::range,
                                    .summary = "one contiguous tile per thread, element by element",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                  ArrayOn<T*, Exec> const& out, Parameters const& parameters) {
    std::size_t const tile = parameters.tile > 0 ? parameters.tile : Tuning<Exec, T>::tiled;
    std::size_t const n = a.extent(0);
    Kokkos::parallel_for(
        "tessera::zip::tiled::add", over(exec, tiles_of(n, tile)), KOKKOS_LAMBDA(std::size_t t) {
          std::size_t const end = Kokkos::min(n, (t + 1) * tile);
          for (std::size_t i = t * tile; i < end; ++i) out(i) = Add<T>{}(a(i), b(i));
        });
  }
};

VariantRows tiled() { return rows<Zip, Tiled>(); }

}  // namespace tessera::zip
