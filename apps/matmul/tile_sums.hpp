#pragma once
/// \file
/// A thread's part of a square tile of c, as sums in the registers of its lanes. Lane x of thread y has the columns x,
/// x + lanes, ... of the rows y, y + threads, ...

#include <Kokkos_Core.hpp>

#include "square_tiles.hpp"

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/matrix_tiles.hpp>

namespace tessera::matmul {

/// \tparam Rows rows of a tile that a thread may have, at least the tile's edge divided by the threads of a team
template <class T, class Lanes, int Rows>
class TileSums {
 public:
  using Sum = collective::Accumulator<T>;
  static constexpr int columns = most_edge / Lanes::width;  ///< columns per lane

  KOKKOS_FUNCTION explicit TileSums(Lanes const& lanes) : lanes_(lanes) {
    for (auto& of_row : sums_) {
      for (auto& sum : of_row) sum = lanes.template fill<Sum>(Sum(0));
    }
  }

  /// Adds the products of a slice of k. Must be called by all threads of the team, after a barrier that follows the
  /// tiles' loads. Barriers: none; the caller needs one before the tiles are loaded again.
  ///
  /// \param a [pairs, edge, edge] in scratch
  /// \param b [pairs, edge, most_edge]
  template <class Member, class Tiles>
  KOKKOS_FUNCTION void add(Member const& team, Tiles const& a, Tiles const& b, int pair) {
    int const edge = static_cast<int>(a.extent(1));
    for (int i = 0; i < edge; ++i) {
      typename Lanes::template Value<T> of_b[columns];
      for (int j = 0; j < columns; ++j) {
        lanes_.each([&](int lane, T& value) { value = b(pair, i, j * Lanes::width + lane); }, of_b[j]);
      }
      for (int r = 0; r < Rows; ++r) {
        int const row = team.team_rank() + r * team.team_size();
        if (row >= edge) continue;
        T const of_a = a(pair, row, i);
        for (int j = 0; j < columns; ++j) {
          lanes_.each([&](int, Sum& sum, T const& value) { sum += collective::product(of_a, value); }, sums_[r][j],
                      of_b[j]);
        }
      }
    }
  }

  /// Stores the sums that lie within the matrix c.
  template <class Member, class Matrix>
  KOKKOS_FUNCTION void store(Member const& team, collective::MatrixTiles::Place const& place, Matrix const& c) const {
    for (int r = 0; r < Rows; ++r) {
      int const row = team.team_rank() + r * team.team_size();
      if (row >= place.row_count) continue;
      for (int j = 0; j < columns; ++j) {
        lanes_.each(
            [&](int lane, Sum const& sum) {
              int const col = j * Lanes::width + lane;
              if (col < place.col_count) c(place.row + row, place.col + col) = static_cast<T>(sum);
            },
            sums_[r][j]);
      }
    }
  }

 private:
  Lanes lanes_;
  typename Lanes::template Value<Sum> sums_[Rows][columns];
};

}  // namespace tessera::matmul
