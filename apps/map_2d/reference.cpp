/// \file
/// The serial oracle of map_2d: one addition per element (verify/elementwise.hpp). c is rounded to the dtype once; the
/// variants and this loop use the same value.

#include "problem.hpp"

#include <tessera/table/references.hpp>
#include <tessera/verify/elementwise.hpp>

namespace tessera::map_2d {

template <class T>
std::vector<ExpectedField> Map2d::reference(Input<T, Kokkos::HostSpace> const& input) {
  auto const c = verify::wide(static_cast<T>(input.parameters.c));
  return verify::elementwise([c](auto a) { return a + c; }, input.a);
}

}  // namespace tessera::map_2d

template struct tessera::References<tessera::map_2d::Map2d>;
