/// \file
/// The serial oracle of transpose: every element to its place.
///
/// Error bound. Nothing is computed, so nothing is rounded: every element must come out as it went in (scale 0: exact).

#include <cstdint>
#include <utility>

#include "problem.hpp"

namespace tessera::transpose {

template <class T>
std::vector<ExpectedField> Transpose::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.a.extent(0);
  std::size_t const cols = input.a.extent(1);
  ExpectedField out{.name = "out", .shape = {cols, rows}, .value = std::vector<double>(rows * cols), .scale = {}};
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) out.value[c * rows + r] = static_cast<double>(input.a(r, c));
  }
  return list_of(std::move(out));
}

template std::vector<ExpectedField> Transpose::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Transpose::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Transpose::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::transpose
