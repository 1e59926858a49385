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
                                    .summary = "each thread a contiguous tile, element by element",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Zip, Exec, T> const& input)
        : tile_(input.parameters.tile > 0 ? input.parameters.tile : Tuning<Exec, T>::tiled) {}

    void operator()(Exec const& exec, InputOn<Zip, Exec, T> const& input, OutputOn<Zip, Exec, T> const& output) const {
      auto const a = input.a;
      auto const b = input.b;
      auto const out = output.out;
      std::size_t const n = a.extent(0);
      std::size_t const tile = tile_;
      Kokkos::parallel_for(
          "tessera::zip::tiled::add", over(exec, tiles_of(n, tile)), KOKKOS_LAMBDA(std::size_t t) {
            std::size_t const end = Kokkos::min(n, (t + 1) * tile);
            for (std::size_t i = t * tile; i < end; ++i) out(i) = Add<T>{}(a(i), b(i));
          });
    }

   private:
    std::size_t tile_;
  };
};

VariantRows tiled() { return rows<Zip, Tiled>(); }

}  // namespace tessera::zip
