/// \file
/// The serial oracle of map: one addition per element, in double.
///
/// Error bound: none. A variant makes one addition, which IEEE 754 rounds in exactly one way. A float sum equals the
/// sum in double rounded to float (2 * 24 + 2 bits suffice: Figueroa, When is double rounding innocuous?, 1995); a
/// double sum is the sum itself. c is rounded to the dtype once; the variants and this loop use the same value.

#include <utility>

#include "problem.hpp"

#include <tessera/table/references.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::map {

template <class T>
std::vector<ExpectedField> Map::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.a.extent(0);
  ExpectedField out{.name = "out", .shape = {n}, .value = std::vector<double>(n), .scale = {}};
  auto const c = verify::wide(static_cast<T>(input.parameters.c));
  for (std::size_t i = 0; i < n; ++i) out.value[i] = verify::stored(verify::wide(input.a(i)) + c);
  return list_of(std::move(out));
}

}  // namespace tessera::map

template struct tessera::References<tessera::map::Map>;
