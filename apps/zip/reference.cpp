/// \file
/// The serial oracle of zip: one addition per element (verify/elementwise.hpp).

#include "problem.hpp"

#include <tessera/table/references.hpp>
#include <tessera/verify/elementwise.hpp>

namespace tessera::zip {

template <class T>
std::vector<ExpectedField> Zip::reference(Input<T, Kokkos::HostSpace> const& input) {
  return verify::elementwise([](auto a, auto b) { return a + b; }, input.a, input.b);
}

}  // namespace tessera::zip

template struct tessera::References<tessera::zip::Zip>;
