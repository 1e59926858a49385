/// \file
/// The serial oracle of map: one addition an element, in double.
///
/// Error bound. A variant makes one addition, correctly rounded: its error is at most u * |a + c| <= u * (|a| + |c|),
/// with u the unit roundoff. For float the sum in double is exact but for its last bits; for double, the sum that is
/// expected is itself the correctly rounded one. c was rounded to the dtype once: the variants and this loop use the
/// same value.

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "problem.hpp"

namespace tessera::map {

template <class T>
std::vector<ExpectedField> Map::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.a.extent(0);
  ExpectedField out{.name = "out", .shape = {n}, .value = std::vector<double>(n), .scale = std::vector<double>(n)};
  for (std::size_t i = 0; i < n; ++i) {
    T const a = input.a(i);
    if constexpr (std::is_integral_v<T>) {
      std::int64_t const sum = std::int64_t{a} + static_cast<std::int64_t>(input.parameters.c);
      out.value[i] = static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)));
    } else {
      double const c = static_cast<double>(static_cast<T>(input.parameters.c));
      out.value[i] = static_cast<double>(a) + c;
      out.scale[i] = std::isfinite(a) ? std::abs(static_cast<double>(a)) + std::abs(c) : 0.0;
    }
  }
  return {out};
}

template std::vector<ExpectedField> Map::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Map::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Map::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::map
