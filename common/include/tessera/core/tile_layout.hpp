#pragma once
/// \file
/// A matrix stored tile after tile, row by row within a tile. Kokkos has no such layout, but a class with an operator()
/// is sufficient.

#include <Kokkos_Macros.hpp>

#include <cstddef>

namespace tessera {

/// Accesses element (row, col) of a matrix of 2^shift x 2^shift tiles, with `across` tiles side by side.
///
/// Example, shift 1, across 2: (0, 0) (0, 1) (1, 0) (1, 1) lie at 0 1 2 3, (0, 2) at 4, (2, 0) at 8.
///
/// \tparam T element type, const for a matrix that is only read
template <class T>
struct TileAfterTile {
  T* data;
  std::size_t across;
  int shift;

  /// Returns the offset of an element from `data`, in elements.
  [[nodiscard]] KOKKOS_FUNCTION std::size_t place(std::size_t row, std::size_t col) const {
    std::size_t const inside = (std::size_t{1} << shift) - 1;
    std::size_t const tile = (row >> shift) * across + (col >> shift);
    return (((tile << shift) + (row & inside)) << shift) + (col & inside);
  }

  [[nodiscard]] KOKKOS_FUNCTION T& operator()(std::size_t row, std::size_t col) const { return data[place(row, col)]; }
};

}  // namespace tessera
