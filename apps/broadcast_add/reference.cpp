/// \file
/// The serial oracle of broadcast_add: one addition an element, in double.
///
/// Error bound. A variant makes one addition, correctly rounded: its error is at most u * |a + b|, with u the unit
/// roundoff, however much cancels. So the scale is |a + b|. For float the sum in double is exact but for its last bits;
/// for double, the sum that is expected is itself the correctly rounded one. NaN, infinities and what overflows a double
/// must come out as such (scale 0).

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "problem.hpp"

namespace tessera::broadcast_add {

template <class T>
std::vector<ExpectedField> BroadcastAdd::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const cols = input.a.extent(0);
  std::size_t const rows = input.b.extent(0);
  ExpectedField out{.name = "out", .shape = {rows, cols}, .value = {}, .scale = {}};
  out.value.reserve(rows * cols);
  out.scale.reserve(rows * cols);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols; ++col) {
      if constexpr (std::is_integral_v<T>) {
        std::int64_t const sum = std::int64_t{input.a(col)} + std::int64_t{input.b(row)};
        out.value.push_back(static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(sum))));
        out.scale.push_back(0.0);
      } else {
        double const sum = static_cast<double>(input.a(col)) + static_cast<double>(input.b(row));
        out.value.push_back(sum);
        out.scale.push_back(std::isfinite(sum) ? std::abs(sum) : 0.0);
      }
    }
  }
  return {out};
}

template std::vector<ExpectedField> BroadcastAdd::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> BroadcastAdd::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> BroadcastAdd::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::broadcast_add
