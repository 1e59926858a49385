#pragma once
/// \file
/// Helpers for sums that overflow although the final result is representable: a mean, or a square root of a sum of
/// squares.
///
/// The caller first computes the plain sum. Only if the sum, or a value computed from it, is not finite, the caller
/// scales the terms by a power of two and sums again. Scaling is exact, except for numbers that are too small to matter
/// beside an overflowing sum. If an element is NaN or infinite, the result stays NaN or infinite. The usual cost is one
/// comparison.
///
/// Example, float: 3e38 + 3e38 is infinity; (3e38 * shrink + 3e38 * shrink) / 2 / shrink is 3e38.

#include <Kokkos_Core.hpp>

#include <limits>

namespace tessera::collective {

/// The power of two by which terms are scaled: 2^-96 for float, 2^-768 for double. Squares of scaled numbers, and sums
/// of these squares, stay within the range.
template <class A>
inline constexpr A shrink = [] {
  A factor = 1;
  for (int i = 0; i < std::numeric_limits<A>::max_exponent / 4 * 3; ++i) factor /= 2;
  return factor;
}();

/// Returns false for NaN and infinities. May be called by any thread.
template <class A>
[[nodiscard]] KOKKOS_INLINE_FUNCTION bool is_in_range(A value) {
  return Kokkos::abs(value) <= Kokkos::Experimental::finite_max_v<A>;
}

}  // namespace tessera::collective
