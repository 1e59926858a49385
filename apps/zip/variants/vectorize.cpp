/// \file
/// Vectors within a tile: each thread takes its own contiguous tile, in as many packs as fit, and the rest of the tile
/// element by element. A tile that does not begin at a pack boundary is done element by element.

#include "../problem.hpp"
#include "../tuning.hpp"

#include <tessera/collective/pack.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::zip {

struct Vectorize {
  static constexpr VariantInfo info{.name = "vectorize",
                                    .level = Level::range,
                                    .summary = "one tile per thread: whole packs, then the remaining elements"};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                  ArrayOn<T*, Exec> const& out, Parameters const& parameters) {
    constexpr int width = Tuning<Exec, T>::width;
    std::size_t const tile = parameters.tile > 0 ? parameters.tile : Tuning<Exec, T>::vectorize;
    std::size_t const n = a.extent(0);
    Kokkos::parallel_for(
        "tessera::zip::vectorize::add", over(exec, tiles_of(n, tile)), KOKKOS_LAMBDA(std::size_t t) {
          std::size_t const end = Kokkos::min(n, (t + 1) * tile);
          std::size_t i = t * tile;
          // If tiles are no multiple of the width, most of them do not begin at a pack boundary.
          if (collective::is_aligned_for_packs<width>(&a(i), &b(i), &out(i))) {
            for (; i + width <= end; i += width) {
              auto x = collective::pack_at<width>(&a(i));
              auto const y = collective::pack_at<width>(&b(i));
              for (int e = 0; e < width; ++e) x[e] = Add<T>{}(x[e], y[e]);
              collective::pack_at<width>(&out(i)) = x;
            }
          }
          for (; i < end; ++i) out(i) = Add<T>{}(a(i), b(i));
        });
  }
};

VariantRows vectorize() { return rows<Zip, Vectorize>(); }

}  // namespace tessera::zip
