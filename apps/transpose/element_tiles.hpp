#pragma once
/// \file
/// The kernel of scratch_tile and scratch_padded: a tile of 1024 elements goes through a team's scratch. It is read
/// along the rows of the input and written along the rows of the output, one element per access. The two variants
/// differ in the padding of the tile's rows.

#include <Kokkos_Core.hpp>

#include <algorithm>

#include "problem.hpp"

#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transpose {

/// One launch over tiles of 32 x 32, or of another shape with 1024 elements if the matrix is too narrow. Rows of the
/// tile are `stride` elements apart in scratch.
template <ExecutionSpace Exec, class T>
struct ElementTiles {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Tile = ScratchView<T*, Exec>;
  static constexpr int elements = 1024;
  static constexpr int in_flight = 4;  // accesses per lane that do not wait for each other

  T const* a;
  T* out;
  collective::MatrixTiles tiles;
  int stride;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Tile const staged(team.team_scratch(0), tiles.tile_rows * stride);
    auto const place = tiles.place(team.league_rank());
    // A tile's extents are powers of two.
    int const row_bits = Kokkos::countr_zero(static_cast<unsigned>(tiles.tile_rows));
    int const col_bits = Kokkos::countr_zero(static_cast<unsigned>(tiles.tile_cols));
    T const* const from = a + place.row * tiles.cols + place.col;
    T* const to = out + place.col * tiles.rows + place.row;

    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, elements / in_flight), [&](int first) {
      T values[in_flight] = {};
      for (int i = 0; i < in_flight; ++i) {
        int const element = first + i * (elements / in_flight);
        int const row = element >> col_bits;
        int const col = element & (tiles.tile_cols - 1);
        if (row < place.row_count && col < place.col_count) values[i] = from[row * tiles.cols + col];
      }
      for (int i = 0; i < in_flight; ++i) {
        int const element = first + i * (elements / in_flight);
        int const row = element >> col_bits;
        int const col = element & (tiles.tile_cols - 1);
        if (row < place.row_count && col < place.col_count) staged(row * stride + col) = values[i];
      }
    });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, tiles.tile_rows * tiles.tile_cols), [&](int element) {
      int const col = element >> row_bits;
      int const row = element & (tiles.tile_rows - 1);
      if (row < place.row_count && col < place.col_count) to[col * tiles.rows + row] = staged(row * stride + col);
    });
    leave_scratch(team);
  }
};

/// The Plan of both variants. `padded`: rows of the tile in scratch are longer than the tile's width, so that the
/// elements of a column lie in different banks of the 32.
template <ExecutionSpace Exec, class T, bool padded>
class ElementTilesPlan {
 public:
  ElementTilesPlan(Exec const& exec, InputOn<Transpose, Exec, T> const& input)
      : tiles_(collective::fitted_tiles(input.a.extent(0), input.a.extent(1), 32, 32)),
        threads_(kernels::team_size(exec, input.parameters.team)),
        league_(league_of(tiles_.count())) {}

  void operator()(Exec const& exec, InputOn<Transpose, Exec, T> const& input,
                  OutputOn<Transpose, Exec, T> const& output) const {
    using Kernel = ElementTiles<Exec, T>;
    if (league_ == 0) return;
    int const stride = tiles_.tile_cols + (padded ? std::max(1, 32 / tiles_.tile_rows) : 0);
    auto const bytes = static_cast<int>(Kernel::Tile::shmem_size(tiles_.tile_rows * stride));
    Kokkos::parallel_for(padded ? "tessera::transpose::scratch_padded::move" : "tessera::transpose::scratch_tile::move",
                         with_scratch(typename Kernel::Policy(exec, league_, threads_), bytes),
                         Kernel{.a = input.a.data(), .out = output.out.data(), .tiles = tiles_, .stride = stride});
  }

 private:
  collective::MatrixTiles tiles_;
  int threads_;
  int league_;
};

}  // namespace tessera::transpose
