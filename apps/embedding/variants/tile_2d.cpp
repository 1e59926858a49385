/// \file
/// Tiles of 16 positions x 16 columns, with the position first: neighbouring threads of a GPU take the same column of
/// different rows, so their accesses are not coalesced. The variant shows what that costs.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::embedding {

struct Tile2d {
  static constexpr VariantInfo info{.name = "tile_2d",
                                    .level = Level::range,
                                    .summary = "16 x 16 tiles, neighbouring threads on neighbouring positions"};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<std::int32_t const**, Exec> const& sequences,
                  ArrayOn<T const**, Exec> const& w, ArrayOn<T***, Exec> const& of_sequences) {
    using Policy = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                                         Kokkos::IndexType<std::int64_t>>;
    using Bounds = typename Policy::point_type;
    auto const idx = flat_indices(sequences);
    auto const out = flat_rows(of_sequences);
    if (out.size() == 0) return;
    Bounds const end{static_cast<std::int64_t>(out.extent(0)), static_cast<std::int64_t>(out.extent(1))};
    Kokkos::parallel_for(
        "tessera::embedding::tile_2d::look_up", Policy(exec, Bounds{0, 0}, end, typename Policy::tile_type{16, 16}),
        KOKKOS_LAMBDA(std::int64_t position, std::int64_t col) {
          out(position, col) = has_row(w, idx(position)) ? w(idx(position), col) : T(0);
        });
  }
};

VariantRows tile_2d() { return rows<Embedding, Tile2d>(); }

}  // namespace tessera::embedding
