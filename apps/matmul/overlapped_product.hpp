#pragma once
/// \file
/// The kernel of tiled_overlap: a lane loads its part of the next slice's tiles into registers before the multiply-adds
/// of the current slice, and writes it to the other pair of tiles after them. On a GPU the loads are in flight during
/// the multiply-adds. On a host they are not, and only tests run the kernel there.

#include <Kokkos_Core.hpp>

#include <cstddef>

#include "tile_sums.hpp"

#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::matmul {

/// \tparam Rows rows of a tile that a thread may have, at least `edge` divided by the threads of a team
template <class Exec, class T, class Lanes, int Rows>
struct OverlappedProduct {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Tiles = ScratchTiles<T***, Exec>;
  using Place = collective::MatrixTiles::Place;
  using Held = typename Lanes::template Value<T>;
  static constexpr int pairs = 2;
  static constexpr int columns = most_edge / Lanes::width;  ///< columns per lane

  Array<T const**, typename Exec::memory_space> a;
  Array<T const**, typename Exec::memory_space> b;
  Array<T**, typename Exec::memory_space> c;
  collective::MatrixTiles tiles;
  int edge;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Tiles const tiles_a(team.team_scratch(0), pairs, edge, edge);
    Tiles const tiles_b(team.team_scratch(0), pairs, edge, most_edge);
    auto const place = tiles.place(team.league_rank());
    std::size_t const inner = a.extent(1);
    Lanes const lanes;
    TileSums<T, Lanes, Rows> sums(lanes);
    Held held_a[Rows][columns];  // this lane's part of a slice: its columns of the thread's rows
    Held held_b[Rows][columns];
    load(team, lanes, place, 0, held_a, held_b);
    int pair = 0;
    for (std::size_t k = 0; k < inner; k += edge, pair = 1 - pair) {
      put(team, lanes, held_a, held_b, tiles_a, tiles_b, pair);
      // One barrier per slice: after it this pair is complete, and no lane reads the other pair any more.
      team.team_barrier();
      if (k + edge < inner) load(team, lanes, place, k + edge, held_a, held_b);
      sums.add(team, tiles_a, tiles_b, pair);
    }
    sums.store(team, place, c);
    leave_scratch(team);
  }

 private:
  KOKKOS_FUNCTION void load(Member const& team, Lanes const& lanes, Place const& place, std::size_t k,
                            Held (*held_a)[columns], Held (*held_b)[columns]) const {
    std::size_t const inner = a.extent(1);
    for (int r = 0; r < Rows; ++r) {
      int const row = team.team_rank() + r * team.team_size();
      for (int j = 0; j < columns; ++j) {
        lanes.each(
            [&](int lane, T& of_a, T& of_b) {
              int const col = j * Lanes::width + lane;
              bool const in_a = row < place.row_count && col < edge && k + col < inner;
              bool const in_b = row < edge && k + row < inner && col < place.col_count;
              of_a = in_a ? a(place.row + row, k + col) : T(0);
              of_b = in_b ? b(k + row, place.col + col) : T(0);
            },
            held_a[r][j], held_b[r][j]);
      }
    }
  }

  KOKKOS_FUNCTION void put(Member const& team, Lanes const& lanes, Held const (*held_a)[columns],
                           Held const (*held_b)[columns], Tiles const& tiles_a, Tiles const& tiles_b, int pair) const {
    for (int r = 0; r < Rows; ++r) {
      int const row = team.team_rank() + r * team.team_size();
      if (row >= edge) continue;
      for (int j = 0; j < columns; ++j) {
        lanes.each(
            [&](int lane, T const& of_a, T const& of_b) {
              int const col = j * Lanes::width + lane;
              if (col < edge) tiles_a(pair, row, col) = of_a;
              tiles_b(pair, row, col) = of_b;
            },
            held_a[r][j], held_b[r][j]);
      }
    }
  }
};

}  // namespace tessera::matmul
