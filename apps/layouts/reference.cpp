/// \file
/// The serial oracle of layouts: for each element its place in each memory; places without one stay 0. Elements are
/// copied, so that nothing may differ: the scales are empty.

#include <algorithm>
#include <utility>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/verify/joined.hpp>

namespace tessera::layouts {

namespace {

ExpectedField field_of(char const* name, Shape const& shape) {
  return {.name = name, .shape = shape, .value = zeros(count_of(shape)), .scale = {}};
}

}  // namespace

template <class T>
std::vector<ExpectedField> Layouts::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.a.extent(0);
  std::size_t const cols = input.a.extent(1);
  std::vector<Shape> const shapes = output_shapes({{rows, cols}}, input.parameters);
  ExpectedField right = field_of("right", shapes[0]);
  ExpectedField left = field_of("left", shapes[1]);
  ExpectedField strided = field_of("strided", shapes[2]);
  ExpectedField tiled = field_of("tiled", shapes[3]);
  std::size_t const pitched = shapes[2][1];
  std::size_t const across = shapes[3][1];
  std::size_t const side = shapes[3][2];
  // Parts that have nothing to do with each other, each a serial loop, several side by side: rows of tiles, then columns.
  for_blocks(rows, side, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      for (std::size_t col = 0; col < cols; ++col) {
        auto const value = static_cast<double>(input.a(row, col));
        right.value[row * cols + col] = value;
        strided.value[row * pitched + col] = value;
        std::size_t const tiles_before = row / side * across + col / side;
        tiled.value[tiles_before * side * side + row % side * side + col % side] = value;
      }
    }
  });
  // Within them some rows at a time, so that no cache line is fetched twice.
  constexpr std::size_t together = 64;
  for_blocks(cols, together, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t first = 0; first < rows; first += together) {
      for (std::size_t col = begin; col < end; ++col) {
        for (std::size_t row = first; row < std::min(rows, first + together); ++row) {
          left.value[col * rows + row] = static_cast<double>(input.a(row, col));
        }
      }
    }
  });
  return list_of(std::move(right), std::move(left), std::move(strided), std::move(tiled));
}

template std::vector<ExpectedField> Layouts::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Layouts::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Layouts::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::layouts
