#pragma once
/// \file
/// What tiled and tiled_overlap share: square tiles of a, b and c in a team's scratch.
///
/// Tiles at the edges are filled with zeros, along k in both factors: what lies past the end adds 0 * 0 to a sum,
/// whatever the matrices hold (0 * infinity would not do). Rows past the end of a and columns past the end of b make
/// sums that are not stored.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

#include "problem.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/team/matrix_tile.hpp>
#include <tessera/core/problem.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/team_shape.hpp>

namespace tessera::matmul {

/// Vector length of the teams: 32 lanes share a row of a tile.
template <class Exec>
inline constexpr int tile_lanes = lane::vector_length<Exec>(32);

/// Edge of the tiles: what the user asked for, else 32, or less where `tiles` of them do not fit into a team's scratch.
/// Throws Skip if the user's do not fit.
template <class Exec, class T>
[[nodiscard]] int tile_edge(std::int64_t requested, int tiles) {
  int const most = Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0);
  auto const fits = [&](std::int64_t edge) {
    return static_cast<double>(edge) * static_cast<double>(edge) * tiles * sizeof(T) + 512 <= most;
  };
  if (requested > 0) {
    if (!fits(requested)) {
      throw Skip(std::to_string(tiles) + " tiles of " + std::to_string(requested) + " x " + std::to_string(requested) +
                 " elements do not fit into a team's scratch of " + std::to_string(most) + " bytes");
    }
    return static_cast<int>(requested);
  }
  int edge = 32;
  while (!fits(edge)) edge /= 2;
  return edge;
}

/// The steps of a tiled product, for a team with tile_lanes<Exec> vector lanes. Every lane has the same elements of the
/// sums in all of them, so that no barrier is needed on their account.
template <class Exec, class Sum>
struct SquareTiles {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Scratch = ScratchView<Sum*, Exec>;

  Operands<Sum> of;
  collective::MatrixTiles tiles;
  int edge;

  SquareTiles(Operands<Sum> const& operands, int tile_edge)
      : of(operands),
        tiles{.rows = operands.m, .cols = operands.n, .tile_rows = tile_edge, .tile_cols = tile_edge},
        edge(tile_edge) {}

  /// So many tiles in scratch.
  [[nodiscard]] KOKKOS_FUNCTION Sum* in_scratch(Member const& team, int count) const {
    return Scratch(team.team_scratch(0), count * edge * edge).data();
  }

  /// The tiles of a and b with the k from `k` on.
  KOKKOS_FUNCTION void load(Member const& team, collective::MatrixTiles::Place const& place, std::size_t k, Sum* a,
                            Sum* b) const {
    team::load_tile(team, team::Matrix<Sum const>{of.a, of.m, of.k}, place.row, k, edge, edge, Sum(0), a, edge);
    team::load_tile(team, team::Matrix<Sum const>{of.b, of.k, of.n}, k, place.col, edge, edge, Sum(0), b, edge);
  }

  KOKKOS_FUNCTION void clear(Member const& team, Sum* sums) const {
    for_each(team, [&](int row, int col) { sums[row * edge + col] = 0; });
  }

  /// sums += a b
  KOKKOS_FUNCTION void multiply(Member const& team, Sum const* a, Sum const* b, Sum* sums) const {
    if constexpr (is_gpu<Exec>) {
      for_each(team, [&](int row, int col) {
        Sum sum = sums[row * edge + col];
        for (int k = 0; k < edge; ++k) sum += a[row * edge + k] * b[k * edge + col];
        sums[row * edge + col] = sum;
      });
    } else {
      // The same sums in the same order, columns innermost: these are the loops that a compiler vectorises.
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, edge), [&](int row) {
        Sum* const sum = sums + row * edge;
        for (int k = 0; k < edge; ++k) {
          Sum const factor = a[row * edge + k];
          Sum const* const from = b + k * edge;
          for (int col = 0; col < edge; ++col) sum[col] += factor * from[col];
        }
      });
    }
  }

  KOKKOS_FUNCTION void store(Member const& team, collective::MatrixTiles::Place const& place, Sum const* sums) const {
    for_each(team, [&](int row, int col) {
      if (row < place.row_count && col < place.col_count) {
        of.c[(place.row + row) * of.n + place.col + col] = sums[row * edge + col];
      }
    });
  }

  /// Always over the whole tile, so that a lane has the same elements every time.
  template <class Body>
  KOKKOS_FUNCTION void for_each(Member const& team, Body const& body) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, edge), [&](int row) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, edge), [&](int col) { body(row, col); });
    });
  }
};

/// The Plan of either. `Product<Exec, Sum>`: the kernel, SquareTiles of which so many (`tile_count`) lie in scratch.
template <ExecutionSpace Exec, class T, template <class, class> class Product>
class SquareTilesPlan {
  using Kernel = Product<Exec, Accumulator<T>>;

 public:
  SquareTilesPlan(Exec const& exec, InputOn<Matmul, Exec, T> const& input)
      : threads_(kernels::team_size(exec, input.parameters.team, tile_lanes<Exec>)),
        edge_(tile_edge<Exec, T>(input.parameters.tile, Kernel::tile_count)) {
    auto const edge = static_cast<std::size_t>(edge_);
    (void)league_of(tiles_of(input.a.extent(0), edge) * tiles_of(input.b.extent(1), edge));  // may be too many
  }

  void operator()(Exec const& exec, InputOn<Matmul, Exec, T> const& input,
                  OutputOn<Matmul, Exec, T> const& output) const {
    Kernel const kernel(operands(input, output), edge_);
    int const league = kernel.tiles.league_size();
    if (league == 0) return;
    auto const bytes = static_cast<int>(Kernel::tile_count * Kernel::Scratch::shmem_size(edge_ * edge_));
    typename Kernel::Policy policy(exec, league, threads_, tile_lanes<Exec>);
    Kokkos::parallel_for(Kernel::label, with_scratch(policy, bytes), kernel);
  }

 private:
  int threads_;
  int edge_;
};

}  // namespace tessera::matmul
