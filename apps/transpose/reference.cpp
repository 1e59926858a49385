/// \file
/// The serial oracle of transpose: every element to its place.
///
/// Error bound. Nothing is computed, so nothing is rounded: every element must come out as it went in (scale 0: exact).

#include <algorithm>
#include <cstdint>
#include <utility>

#include "problem.hpp"

namespace tessera::transpose {

template <class T>
std::vector<ExpectedField> Transpose::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.a.extent(0);
  std::size_t const cols = input.a.extent(1);
  ExpectedField out{.name = "out", .shape = {cols, rows}, .value = std::vector<double>(rows * cols), .scale = {}};
  // Eight rows at a time, so that a cache line of the result is written once.
  constexpr std::size_t together = 8;
  for (std::size_t first = 0; first < rows; first += together) {
    std::size_t const end = std::min(rows, first + together);
    for (std::size_t c = 0; c < cols; ++c) {
      for (std::size_t r = first; r < end; ++r) out.value[c * rows + r] = static_cast<double>(input.a(r, c));
    }
  }
  return list_of(std::move(out));
}

template std::vector<ExpectedField> Transpose::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Transpose::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Transpose::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::transpose
