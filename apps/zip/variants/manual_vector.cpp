/// \file
/// Vectors by hand: each thread a contiguous chunk of several packs, their places written out, and what is left over
/// of the last chunk element by element.

#include <algorithm>

#include "../problem.hpp"

#include <tessera/collective/pack.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::zip {

namespace {

template <class T>
struct AddChunk {
  static constexpr int width = collective::pack_width<T>;

  T const* a;
  T const* b;
  T* out;
  std::size_t n;
  int packs_per_chunk;
  bool aligned;

  KOKKOS_FUNCTION void operator()(std::size_t chunk) const {
    for (int p = 0; p < packs_per_chunk; ++p) {
      std::size_t const begin = (chunk * packs_per_chunk + p) * width;
      if (aligned && begin + width <= n) {
        auto x = collective::pack_at<width>(a + begin);
        auto const y = collective::pack_at<width>(b + begin);
        for (int e = 0; e < width; ++e) x[e] = Add<T>{}(x[e], y[e]);
        collective::pack_at<width>(out + begin) = x;
      } else {
        for (std::size_t i = begin; i < n && i < begin + width; ++i) out[i] = Add<T>{}(a[i], b[i]);
      }
    }
  }
};

}  // namespace

struct ManualVector {
  static constexpr VariantInfo info{.name = "manual_vector",
                                    .level = Level::range,
                                    .summary = "each thread a chunk of 16-byte packs, explicit indices"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    static constexpr int width = AddChunk<T>::width;

    // A chunk is whole packs: what the tile asks for, rounded up.
    Plan(Exec const&, InputOn<Zip, Exec, T> const& input)
        : packs_per_chunk_(input.parameters.tile > 0
                               ? static_cast<int>(tiles_of(static_cast<std::size_t>(input.parameters.tile), width))
                               : (is_gpu<Exec> ? 2 : 4096 / width)) {}

    void operator()(Exec const& exec, InputOn<Zip, Exec, T> const& input, OutputOn<Zip, Exec, T> const& output) const {
      AddChunk<T> const add{.a = input.a.data(),
                            .b = input.b.data(),
                            .out = output.out.data(),
                            .n = input.a.extent(0),
                            .packs_per_chunk = packs_per_chunk_,
                            .aligned = collective::is_aligned_for_packs<width>(input.a.data()) &&
                                       collective::is_aligned_for_packs<width>(input.b.data()) &&
                                       collective::is_aligned_for_packs<width>(output.out.data())};
      std::size_t const chunks = tiles_of(add.n, static_cast<std::size_t>(packs_per_chunk_) * width);
      Kokkos::parallel_for("tessera::zip::manual_vector::add", Kokkos::RangePolicy<Exec>(exec, 0, chunks), add);
    }

   private:
    int packs_per_chunk_;
  };
};

VariantRows manual_vector() { return rows<Zip, ManualVector>(); }

}  // namespace tessera::zip
