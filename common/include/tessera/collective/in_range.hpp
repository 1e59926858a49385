#pragma once
/// \file
/// Sums that leave the range of floating-point numbers although the result is within it: of a mean, or of squares under a root.
///
/// The plain sum comes first. Only if it, or what follows from it, is not in range, the terms are scaled by a power of two and
/// summed again. Scaling rounds nothing, except numbers that are too small to count beside a sum that has left the range. Where an
/// element is NaN or an infinity the result stays what it was. The cost otherwise is one comparison.
///
/// Example, float: 3e38 + 3e38 is infinity; (3e38 * shrink + 3e38 * shrink) / 2 / shrink is 3e38.

#include <Kokkos_Core.hpp>

#include <limits>

namespace tessera::collective {

/// The power of two by which terms are scaled: 2^-96 for float, 2^-768 for double. Squares of scaled numbers, and sums of them,
/// stay within the range.
template <class A>
inline constexpr A shrink = [] {
  A factor = 1;
  for (int i = 0; i < std::numeric_limits<A>::max_exponent / 4 * 3; ++i) factor /= 2;
  return factor;
}();

/// False for NaN and infinities. Who calls: anyone.
template <class A>
[[nodiscard]] KOKKOS_INLINE_FUNCTION bool is_in_range(A value) {
  return Kokkos::abs(value) <= std::numeric_limits<A>::max();
}

}  // namespace tessera::collective
