#pragma once
/// \file
/// A matrix that lies in memory tile after tile, and in each tile row after row. Kokkos has no such layout, but a class
/// with an operator() suffices.

#include <Kokkos_Macros.hpp>

#include <cstddef>

namespace tessera {

/// Gives element (row, col) of a matrix in tiles of 2^shift x 2^shift elements, `across` of them side by side.
///
/// Example, shift 1, across 2: (0, 0) (0, 1) (1, 0) (1, 1) lie at 0 1 2 3, (0, 2) at 4, (2, 0) at 8.
///
/// \tparam T element, const for a matrix that is read
template <class T>
struct TileAfterTile {
  T* data;
  std::size_t across;
  int shift;

  /// The place of an element, counted in elements from `data` on.
  [[nodiscard]] KOKKOS_FUNCTION std::size_t place(std::size_t row, std::size_t col) const {
    std::size_t const inside = (std::size_t{1} << shift) - 1;
    std::size_t const tile = (row >> shift) * across + (col >> shift);
    return (((tile << shift) + (row & inside)) << shift) + (col & inside);
  }

  [[nodiscard]] KOKKOS_FUNCTION T& operator()(std::size_t row, std::size_t col) const { return data[place(row, col)]; }
};

}  // namespace tessera
