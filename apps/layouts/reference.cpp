/// \file
/// The serial oracle of layouts: for each element its place in each memory; places without one are 0. Elements are
/// copied, so that nothing may differ: the scales are empty.

#include <algorithm>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/joined.hpp>

namespace tessera::layouts {

template <class T>
std::vector<ExpectedField> Layouts::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.a.extent(0);
  std::size_t const cols = input.a.extent(1);
  std::vector<Shape> const shapes = output_shapes({{rows, cols}}, input.parameters);
  MovedElements<T> right("right", shapes[0]);
  MovedElements<T> left("left", shapes[1]);
  MovedElements<T> strided("strided", shapes[2]);
  MovedElements<T> tiled("tiled", shapes[3]);
  std::size_t const pitched = shapes[2][1];
  std::size_t const across = shapes[3][1];
  std::size_t const side = shapes[3][2];
  if (rows == 0 || cols == 0) return list_of(right.take(), left.take(), strided.take(), tiled.take());
  // Parts that have nothing to do with each other, each a serial loop, several side by side: rows of tiles, then
  // columns.
  for_blocks(shapes[3][0] * side, side, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      bool const is_there = row < rows;  // a tile may have more rows than there are
      std::size_t const in_tile = (begin * across + row - begin) * side;
      if (is_there) {
        for (std::size_t col = 0; col < cols; ++col) right.set(row * cols + col, input.a(row, col));
        for (std::size_t col = 0; col < cols; ++col) strided.set(row * pitched + col, input.a(row, col));
        for (std::size_t col = cols; col < pitched; ++col) strided.set(row * pitched + col, T(0));
      }
      for (std::size_t tile = 0; tile < across; ++tile) {
        std::size_t const to = in_tile + tile * side * side;
        std::size_t const present = is_there ? std::min(side, cols - tile * side) : 0;
        for (std::size_t i = 0; i < present; ++i) tiled.set(to + i, input.a(row, tile * side + i));
        for (std::size_t i = present; i < side; ++i) tiled.set(to + i, T(0));
      }
    }
  });
  // Within them some rows at a time, so that no cache line is fetched twice.
  constexpr std::size_t together = 64;
  for_blocks(cols, together, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t first = 0; first < rows; first += together) {
      for (std::size_t col = begin; col < end; ++col) {
        for (std::size_t row = first; row < std::min(rows, first + together); ++row) {
          left.set(col * rows + row, input.a(row, col));
        }
      }
    }
  });
  return list_of(right.take(), left.take(), strided.take(), tiled.take());
}

}  // namespace tessera::layouts

template struct tessera::References<tessera::layouts::Layouts>;
