/// \file
/// The serial oracle of finite_difference: one subtraction per element, in double.
///
/// Error bound: none. A variant makes one subtraction, which IEEE 754 rounds in exactly one way. A float difference
/// equals the difference in double rounded to float (2 * 24 + 2 bits suffice: Figueroa, When is double rounding
/// innocuous?, 1995); a double difference is the difference itself. The last element of a segment is 0.

#include <utility>

#include "problem.hpp"

#include <tessera/table/references.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::finite_difference {

template <class T>
std::vector<ExpectedField> FiniteDifference::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.in.extent(0);
  std::size_t const segment = input.parameters.segment;
  std::size_t const first = input.parameters.first;
  ExpectedField out = zero_field("out", {n});
  for (std::size_t i = 0; i + 1 < n; ++i) {
    if (segment != 0 && (first + i + 1) % segment == 0) continue;  // the next element belongs to the next segment
    out.value[i] = verify::stored(verify::wide(input.in(i + 1)) - verify::wide(input.in(i)));
  }
  return list_of(std::move(out));
}

}  // namespace tessera::finite_difference

template struct tessera::References<tessera::finite_difference::FiniteDifference>;
