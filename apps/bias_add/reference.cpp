/// \file
/// The serial oracle of bias_add: one addition per element, in double, or in 64 bits and wrapped.
///
/// Error bound: none. The sum of two floats in double, rounded to float, is their float sum; a sum of doubles is the
/// double sum itself.

#include <utility>

#include "problem.hpp"

#include <tessera/table/references.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::bias_add {

template <class T>
std::vector<ExpectedField> BiasAdd::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.x.extent(0);
  std::size_t const cols = input.x.extent(1);
  ExpectedField y = zero_field("y", {rows, cols});
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols; ++col) {
      y.value[row * cols + col] = verify::stored(verify::wide(input.x(row, col)) + verify::wide(input.bias(col)));
    }
  }
  return list_of(std::move(y));
}

}  // namespace tessera::bias_add

template struct tessera::References<tessera::bias_add::BiasAdd>;
