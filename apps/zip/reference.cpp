/// \file
/// The serial oracle of zip: one addition per element, in double.
///
/// Error bound: none. A variant makes one addition, which IEEE 754 rounds in exactly one way. A float sum equals the
/// sum in double rounded to float (2 * 24 + 2 bits suffice: Figueroa, When is double rounding innocuous?, 1995); a
/// double sum is the sum itself.

#include <utility>

#include "problem.hpp"

#include <tessera/table/references.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::zip {

template <class T>
std::vector<ExpectedField> Zip::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.a.extent(0);
  ExpectedField out{.name = "out", .shape = {n}, .value = std::vector<double>(n), .scale = {}};
  for (std::size_t i = 0; i < n; ++i) {
    out.value[i] = verify::stored(verify::wide(input.a(i)) + verify::wide(input.b(i)));
  }
  return list_of(std::move(out));
}

}  // namespace tessera::zip

template struct tessera::References<tessera::zip::Zip>;
