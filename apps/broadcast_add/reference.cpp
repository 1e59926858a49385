/// \file
/// The serial oracle of broadcast_add: one addition an element, in double.
///
/// Error bound: none. A variant makes one addition, and IEEE 754 rounds it in one way only: of floats the sum in double,
/// rounded to float, is that (2 * 24 + 2 bits are enough for it: Figueroa, When is double rounding innocuous?, 1995); of
/// doubles it is the sum itself.

#include <cstdint>
#include <type_traits>
#include <utility>

#include "problem.hpp"

namespace tessera::broadcast_add {

template <class T>
std::vector<ExpectedField> BroadcastAdd::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const cols = input.a.extent(0);
  std::size_t const rows = input.b.extent(0);
  ExpectedField out{.name = "out", .shape = {rows, cols}, .value = {}, .scale = {}};
  out.value.reserve(rows * cols);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols; ++col) {
      if constexpr (std::is_integral_v<T>) {
        std::int64_t const sum = std::int64_t{input.a(col)} + std::int64_t{input.b(row)};
        out.value.push_back(static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(sum))));
      } else {
        double const sum = static_cast<double>(input.a(col)) + static_cast<double>(input.b(row));
        out.value.push_back(sum);
      }
    }
  }
  return list_of(std::move(out));
}

template std::vector<ExpectedField> BroadcastAdd::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> BroadcastAdd::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> BroadcastAdd::reference(Input<std::int32_t, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> BroadcastAdd::reference(Input<Half, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> BroadcastAdd::reference(Input<BFloat16, Kokkos::HostSpace> const&);

}  // namespace tessera::broadcast_add
