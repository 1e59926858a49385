#pragma once
/// \file
/// The kernel of tiled_async: `stages` pairs of tiles in scratch. One pair is multiplied while the copies into the
/// other pairs are in flight (collective/async_copy.hpp). Waiting elements are in scratch and take no registers.

#include <Kokkos_Core.hpp>

#include <cstddef>

#include "tile_sums.hpp"

#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::matmul {

/// \tparam Copies the hardware's copies, or a test's mock
/// \tparam Rows rows of a tile that a thread may have, at least `edge` divided by the threads of a team
template <class Exec, class T, class Lanes, int Rows, collective::AsyncCopies Copies, int stages = 2>
struct AsyncProduct {
  static_assert(stages >= 2, "Tessera: one pair of tiles is multiplied while another one is filled");
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Tiles = ScratchTiles<T***, Exec>;
  static constexpr int pairs = stages;

  Array<T const**, typename Exec::memory_space> a;
  Array<T const**, typename Exec::memory_space> b;
  Array<T**, typename Exec::memory_space> c;
  collective::MatrixTiles tiles;
  int edge;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Tiles const tiles_a(team.team_scratch(0), stages, edge, edge);
    Tiles const tiles_b(team.team_scratch(0), stages, edge, most_edge);
    auto const place = tiles.place(team.league_rank());
    std::size_t const inner = a.extent(1);
    Lanes const lanes;
    Copies const copies;
    TileSums<T, Lanes, Rows> sums(lanes);
    // All stages but one are filled in advance. A slice past the end is an empty group, so that the number of groups
    // stays right.
    std::size_t next = 0;
    for (int s = 0; s < stages - 1; ++s, next += edge) start(team, lanes, copies, place, next, tiles_a, tiles_b, s);
    int stage = 0;
    for (std::size_t k = 0; k < inner; k += edge, next += edge) {
      copies.template wait<stages - 2>();
      // After the barrier all lanes' copies of this slice are complete, and no lane reads the previous slice's tiles.
      team.team_barrier();
      int const last = stage == 0 ? stages - 1 : stage - 1;
      start(team, lanes, copies, place, next, tiles_a, tiles_b, last);
      sums.add(team, tiles_a, tiles_b, stage);
      stage = stage == stages - 1 ? 0 : stage + 1;
    }
    sums.store(team, place, c);
    leave_scratch(team);
  }

 private:
  // Starts the copies of a slice, one element per copy, which works for any extents. Neighbouring lanes copy
  // neighbouring elements of memory.
  KOKKOS_FUNCTION void start(Member const& team, Lanes const& lanes, Copies const& copies,
                             collective::MatrixTiles::Place const& place, std::size_t k, Tiles const& tiles_a,
                             Tiles const& tiles_b, int stage) const {
    constexpr int bytes = static_cast<int>(sizeof(T));
    std::size_t const inner = a.extent(1);
    if (k < inner) {
      auto lane_of = lanes.template fill<int>(0);
      for (int row = team.team_rank(); row < edge; row += team.team_size()) {
        for (int first = 0; first < most_edge; first += Lanes::width) {
          lanes.each(
              [&](int lane, int const&) {
                int const col = first + lane;
                bool const in_a = row < place.row_count && k + col < inner;
                bool const in_b = k + row < inner && col < place.col_count;
                // Nothing is read outside the matrix, but the address must be valid.
                T const* const from_a = in_a ? &a(place.row + row, k + col) : a.data();
                T const* const from_b = in_b ? &b(k + row, place.col + col) : b.data();
                if (col < edge) copies.template copy_async<bytes>(&tiles_a(stage, row, col), from_a, in_a);
                copies.template copy_async<bytes>(&tiles_b(stage, row, col), from_b, in_b);
              },
              lane_of);
        }
      }
    }
    copies.commit();
  }
};

}  // namespace tessera::matmul
