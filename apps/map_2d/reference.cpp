/// \file
/// The serial oracle of map_2d: one addition per element, in double.
///
/// Error bound: none. A variant makes one addition, which IEEE 754 rounds in exactly one way. A float sum equals the
/// sum in double rounded to float (2 * 24 + 2 bits suffice: Figueroa, When is double rounding innocuous?, 1995); a
/// double sum is the sum itself. c is rounded to the dtype once; the variants and this loop use the same value.

#include <utility>

#include "problem.hpp"

#include <tessera/table/references.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::map_2d {

template <class T>
std::vector<ExpectedField> Map2d::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.a.extent(0);
  std::size_t const cols = input.a.extent(1);
  ExpectedField out{.name = "out", .shape = {rows, cols}, .value = {}, .scale = {}};
  out.value.reserve(rows * cols);
  auto const c = verify::wide(static_cast<T>(input.parameters.c));
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols; ++col) {
      out.value.push_back(verify::stored(verify::wide(input.a(row, col)) + c));
    }
  }
  return list_of(std::move(out));
}

}  // namespace tessera::map_2d

template struct tessera::References<tessera::map_2d::Map2d>;
