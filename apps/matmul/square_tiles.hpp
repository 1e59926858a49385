#pragma once
/// \file
/// Shared by tiled, tiled_overlap and tiled_async: which square tile of c a team makes, and how its threads and lanes
/// share it.
///
/// If a thread has l lanes and a team t threads, a lane takes every l-th column of the tile and a thread every t-th
/// row. A lane has a few elements of c and keeps their sums in registers from the first slice of k to the last. On a
/// GPU a lane has 2 columns of 4 rows: it reads 6 elements from scratch for 8 products. With a single column it would
/// read 5 elements for 4 products, and the product would wait for scratch, which gives a lane one element at a time.
///
/// Past the end of k, tiles in scratch are filled with zeros in both factors, so that 0 * 0 is added to a sum, whatever
/// the matrices hold (0 * infinity would be NaN). Rows past the end of a and columns past the end of b make sums that
/// are not stored.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

#include "problem.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::matmul {

/// The largest number of columns and rows of a tile.
inline constexpr int most_edge = 32;

/// Lanes per thread. A host's lanes are emulated: its widest vectors hold half a row or less.
template <ExecutionSpace Exec>
inline constexpr int tile_lanes = is_gpu<Exec> ? 16 : most_edge;

/// The number of rows of a tile that a thread may have. On a host one thread may be the whole team.
template <ExecutionSpace Exec>
inline constexpr int rows_of_thread = is_gpu<Exec> ? 4 : most_edge;

/// A tile in scratch, by rows, or several tiles of one size, with the indices (tile, row, column). On CUDA the default
/// is by columns, with bank conflicts between all lanes of a warp.
template <class Data, class Exec>
using ScratchTiles = Kokkos::View<Data, Kokkos::LayoutRight, typename Exec::scratch_memory_space,
                                  Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Tiles of c and the teams that make them.
struct SquareTiles {
  collective::MatrixTiles tiles;
  int edge;           ///< rows and columns of a tile of c, and the length of a slice along k
  int threads;        ///< threads per team
  int lanes;          ///< vector length
  int league;         ///< number of teams
  std::size_t bytes;  ///< bytes of scratch
};

/// Returns the bytes of `pairs` pairs of tiles, of a [edge, edge] and of b [edge, most_edge], with the Views' padding.
template <class T>
[[nodiscard]] std::size_t bytes_of_pairs(int pairs, int edge) {
  auto const rows = static_cast<std::size_t>(edge);
  return static_cast<std::size_t>(pairs) * ((rows + most_edge) * rows * sizeof(T) + 128);
}

/// Returns tiles with the edge that the user asked for; else 32, or less if `pairs` pairs of tiles do not fit into a
/// team's scratch or if the threads cannot have this many rows. Teams are as large as the tile needs, or as the user
/// asks. Throws Skip if the user's choice does not fit, or if a league cannot have this many teams.
template <ExecutionSpace Exec, class T>
[[nodiscard]] SquareTiles square_tiles(Exec const& exec, InputOn<Matmul, Exec, T> const& input, int pairs) {
  int const lanes = lane::vector_length<Exec>(tile_lanes<Exec>);
  auto const team = input.parameters.team > 0 ? input.parameters.team : most_edge / rows_of_thread<Exec>;
  int const threads = kernels::team_size(exec, team, lanes);
  auto const scratch = static_cast<std::size_t>(Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0));
  int const most = std::min(most_edge, rows_of_thread<Exec> * threads);
  auto const requested = input.parameters.tile;
  if (requested > most) {
    throw Skip("tiles of " + std::to_string(requested) + " x " + std::to_string(requested) + " elements (a team of " +
               std::to_string(threads) + " has sums for " + std::to_string(most) + " x " + std::to_string(most) + ")");
  }
  int edge = requested > 0 ? static_cast<int>(requested) : most;
  while (requested == 0 && edge > 1 && bytes_of_pairs<T>(pairs, edge) > scratch) edge /= 2;
  std::size_t const bytes = bytes_of_pairs<T>(pairs, edge);
  if (bytes > scratch) {
    throw Skip(std::to_string(pairs) + " pairs of tiles of " + std::to_string(edge) + " x " + std::to_string(edge) +
               " elements (a team's scratch has " + std::to_string(scratch) + " bytes)");
  }
  collective::MatrixTiles const tiles{
      .rows = input.a.extent(0), .cols = input.b.extent(1), .tile_rows = edge, .tile_cols = edge};
  return {.tiles = tiles,
          .edge = edge,
          .threads = threads,
          .lanes = lanes,
          .league = league_of(tiles.count()),
          .bytes = bytes};
}

/// The Plan of a variant whose `Kernel` makes square tiles of c from Kernel::pairs pairs of tiles in scratch.
template <ExecutionSpace Exec, class T, class Kernel>
class SquareTilesPlan {
 public:
  SquareTilesPlan(Exec const& exec, InputOn<Matmul, Exec, T> const& input, std::string const& label)
      : label_(label + "::product"), shape_(square_tiles<Exec, T>(exec, input, Kernel::pairs)) {}

  void operator()(Exec const& exec, InputOn<Matmul, Exec, T> const& input,
                  OutputOn<Matmul, Exec, T> const& output) const {
    if (shape_.league == 0) return;
    Kokkos::TeamPolicy<Exec> const policy(exec, shape_.league, shape_.threads, shape_.lanes);
    Kokkos::parallel_for(label_, with_scratch(policy, shape_.bytes),
                         Kernel{input.a, input.b, output.c, shape_.tiles, shape_.edge});
  }

 private:
  std::string label_;
  SquareTiles shape_;
};

}  // namespace tessera::matmul
