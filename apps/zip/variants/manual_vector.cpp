/// \file
/// Vectors by hand: each thread takes a chunk of tile x width elements. The code computes the position of every load in
/// the whole array and does the remainder of the last chunk element by element.

#include "../problem.hpp"
#include "../tuning.hpp"

#include <tessera/collective/pack.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::zip {

struct ManualVector {
  static constexpr VariantInfo info{.name = "manual_vector",
                                    .level = Level::range,
                                    .summary = "one chunk of tile x width elements per thread, explicit indices"};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                  ArrayOn<T*, Exec> const& out, Parameters const& parameters) {
    constexpr int width = Tuning<Exec, T>::width;
    std::size_t const tile = parameters.tile > 0 ? parameters.tile : Tuning<Exec, T>::manual_vector;  // packs
    std::size_t const n = a.extent(0);
    std::size_t const chunk_size = tile * width;
    bool const aligned = collective::is_aligned_for_packs<width>(a.data(), b.data(), out.data());
    Kokkos::parallel_for(
        "tessera::zip::manual_vector::add", over(exec, tiles_of(n, chunk_size)), KOKKOS_LAMBDA(std::size_t chunk) {
          // A tile may be far larger than the array.
          std::size_t const packs = Kokkos::min(tile, (n - chunk * chunk_size + width - 1) / width);
          for (std::size_t p = 0; p < packs; ++p) {
            std::size_t const begin = chunk * chunk_size + p * width;
            if (aligned && begin + width <= n) {
              auto x = collective::pack_at<width>(&a(begin));
              auto const y = collective::pack_at<width>(&b(begin));
              for (int e = 0; e < width; ++e) x[e] = Add<T>{}(x[e], y[e]);
              collective::pack_at<width>(&out(begin)) = x;
            } else {
              for (std::size_t i = begin; i < n && i < begin + width; ++i) out(i) = Add<T>{}(a(i), b(i));
            }
          }
        });
  }
};

VariantRows manual_vector() { return rows<Zip, ManualVector>(); }

}  // namespace tessera::zip
