/// \file
/// The serial oracle of map_3d: one addition per element, in double, or in 64 bits and wrapped.
///
/// Error bound: none. The sum of two floats in double, rounded to float, is their float sum; a sum of doubles is the
/// double sum itself.

#include <utility>

#include "problem.hpp"

#include <tessera/table/references.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::map_3d {

template <class T>
std::vector<ExpectedField> Map3d::reference(Input<T, Kokkos::HostSpace> const& input) {
  Shape const shape{input.a.extent(0), input.a.extent(1), input.a.extent(2)};
  ExpectedField out{.name = "out", .shape = shape, .value = {}, .scale = {}};
  out.value.reserve(count_of(shape));
  auto const c = verify::wide(static_cast<T>(input.parameters.c));
  for (std::size_t plane = 0; plane < shape[0]; ++plane) {
    for (std::size_t row = 0; row < shape[1]; ++row) {
      for (std::size_t col = 0; col < shape[2]; ++col) {
        out.value.push_back(verify::stored(verify::wide(input.a(plane, row, col)) + c));
      }
    }
  }
  return list_of(std::move(out));
}

}  // namespace tessera::map_3d

template struct tessera::References<tessera::map_3d::Map3d>;
