/// \file
/// The serial oracle of finite_difference: one subtraction an element, in double.
///
/// Error bound. A variant makes one subtraction, correctly rounded: its error is at most u * |in[i + 1] - in[i]|, with
/// u the unit roundoff. For float the difference in double is exact but for its last bits; for double, the difference
/// that is expected is itself the correctly rounded one. Where it exceeds the dtype's range, it must be the infinity of
/// its sign. The last element of a segment is 0, whatever it was, and int32 wraps: both are exact.

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "problem.hpp"

namespace tessera::finite_difference {

template <class T>
std::vector<ExpectedField> FiniteDifference::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.in.extent(0);
  std::size_t const segment = input.parameters.segment;
  ExpectedField out{.name = "out", .shape = {n}, .value = std::vector<double>(n), .scale = std::vector<double>(n)};
  for (std::size_t i = 0; i + 1 < n; ++i) {
    if (segment != 0 && (i + 1) % segment == 0) continue;  // the next element is another segment's
    if constexpr (std::is_integral_v<T>) {
      std::uint32_t const bits = static_cast<std::uint32_t>(input.in(i + 1)) - static_cast<std::uint32_t>(input.in(i));
      out.value[i] = static_cast<double>(static_cast<std::int32_t>(bits));
    } else {
      double const value = static_cast<double>(input.in(i + 1)) - static_cast<double>(input.in(i));
      out.value[i] = value;
      out.scale[i] = std::isfinite(value) ? std::abs(value) : 0.0;
    }
  }
  return {out};
}

template std::vector<ExpectedField> FiniteDifference::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> FiniteDifference::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> FiniteDifference::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::finite_difference
