/// \file
/// Tiles of 16 positions x 16 columns, the position first: neighbouring threads of a GPU stand on the same column of
/// different rows, and each of their accesses is in another piece of memory. Here to show what that costs.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::embedding {

namespace {

template <class T>
struct LookUpInTile {
  Lookup<T> of;

  KOKKOS_FUNCTION void operator()(std::int64_t position, std::int64_t col) const {
    T const* const row = of.row_of(position);
    of.out[static_cast<std::size_t>(position) * of.width + col] = row != nullptr ? row[col] : T(0);
  }
};

}  // namespace

struct Tile2d {
  static constexpr VariantInfo info{.name = "tile_2d",
                                    .level = Level::range,
                                    .summary = "16 x 16 tiles, neighbouring threads on neighbouring positions"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                                         Kokkos::IndexType<std::int64_t>>;

    Plan(Exec const&, InputOn<Embedding, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<Embedding, Exec, T> const& input,
                    OutputOn<Embedding, Exec, T> const& output) const {
      Lookup<T> const of = lookup(input, output);
      if (of.positions == 0 || of.width == 0) return;
      using Bounds = typename Policy::point_type;
      Kokkos::parallel_for("tessera::embedding::tile_2d::look_up",
                           Policy(exec, Bounds{0, 0},
                                  Bounds{static_cast<std::int64_t>(of.positions), static_cast<std::int64_t>(of.width)},
                                  typename Policy::tile_type{16, 16}),
                           LookUpInTile<T>{of});
    }
  };
};

VariantRows tile_2d() { return rows<Embedding, Tile2d>(); }

}  // namespace tessera::embedding
