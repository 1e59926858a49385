/// \file
/// The serial oracle of zip: one addition an element, in double.
///
/// Error bound. A variant makes one addition, correctly rounded: its error is at most u * |a + b|, with u the unit
/// roundoff, however much cancels. So the scale is |a + b|. For float the sum in double is exact but for its last bits;
/// for double, the sum that is expected is itself the correctly rounded one. Sums that are denormal are exact in any
/// case. NaN, infinities and what overflows a double must come out as such (scale 0).

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "problem.hpp"

namespace tessera::zip {

template <class T>
std::vector<ExpectedField> Zip::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.a.extent(0);
  ExpectedField out{.name = "out", .shape = {n}, .value = std::vector<double>(n), .scale = std::vector<double>(n)};
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (std::is_integral_v<T>) {
      std::int64_t const sum = std::int64_t{input.a(i)} + std::int64_t{input.b(i)};
      out.value[i] = static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)));
    } else {
      double const sum = static_cast<double>(input.a(i)) + static_cast<double>(input.b(i));
      out.value[i] = sum;
      out.scale[i] = std::isfinite(sum) ? std::abs(sum) : 0.0;
    }
  }
  return {out};
}

template std::vector<ExpectedField> Zip::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Zip::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Zip::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::zip
