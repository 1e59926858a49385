/// \file
/// The serial oracle of broadcast_add: one addition per element, in double.
///
/// Error bound: none. A variant makes one addition, which IEEE 754 rounds in exactly one way. A float sum equals the
/// sum in double rounded to float (2 * 24 + 2 bits suffice: Figueroa, When is double rounding innocuous?, 1995); a
/// double sum is the sum itself.

#include <utility>

#include "problem.hpp"

#include <tessera/table/references.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::broadcast_add {

template <class T>
std::vector<ExpectedField> BroadcastAdd::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const cols = input.a.extent(0);
  std::size_t const rows = input.b.extent(0);
  ExpectedField out = zero_field("out", {rows, cols});
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols; ++col) {
      out.value[row * cols + col] = verify::stored(verify::wide(input.a(col)) + verify::wide(input.b(row)));
    }
  }
  return list_of(std::move(out));
}

}  // namespace tessera::broadcast_add

template struct tessera::References<tessera::broadcast_add::BroadcastAdd>;
