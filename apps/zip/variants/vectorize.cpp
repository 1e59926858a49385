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
                                    .summary = "each thread a tile: as many packs as fit, then what is left"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    static constexpr int width = Tuning<Exec, T>::width;

    Plan(Exec const&, InputOn<Zip, Exec, T> const& input)
        : tile_(input.parameters.tile > 0 ? input.parameters.tile : Tuning<Exec, T>::vectorize) {}

    void operator()(Exec const& exec, InputOn<Zip, Exec, T> const& input, OutputOn<Zip, Exec, T> const& output) const {
      auto const a = input.a;
      auto const b = input.b;
      auto const out = output.out;
      std::size_t const n = a.extent(0);
      std::size_t const tile = tile_;
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

   private:
    std::size_t tile_;
  };
};

VariantRows vectorize() { return rows<Zip, Vectorize>(); }

}  // namespace tessera::zip
