#pragma once
/// \file
/// The types that references compute in, 64 bits for integers and double for floats, so that one text of a formula serves all
/// dtypes.
///
/// Example: stored(wide(a) + wide(b)) is the sum of two elements: of integers modulo 2^32, of floats in double.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tessera::verify {

/// The element in the wider type.
template <class T>
[[nodiscard]] constexpr auto wide(T const& element) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(element);
  } else {
    return static_cast<double>(element);
  }
}

/// A result in the wider type as ExpectedField has it: integers wrap as int32, floats are rounded when they are compared.
[[nodiscard]] constexpr double stored(std::int64_t result) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(result));
}
[[nodiscard]] constexpr double stored(double result) { return result; }

/// The scale of a sum in T: the magnitudes of its terms added up; or infinity (not checked) where the result depends on the
/// order of the additions, because those of some terms may leave T's range. Whatever the order, a partial sum lies between the
/// sum of the negative terms and that of the positive ones. So the result does not depend on it where
/// - both are in the range: by 1%, for the roundings of partial sums;
/// - only one is not, and the sum is not, either: it is an infinity in every order;
/// - all terms have one sign: then no partial sum is larger than the sum.
///
/// Example, float: 3e38 + 3e38 is infinity, 3e38 + 2e38 - 3e38 is not known, 3e38 - 2e38 is 1e38.
template <class T>
[[nodiscard]] inline double scale_of_sum(double value, double magnitude) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr auto most = static_cast<double>(std::numeric_limits<T>::max());
  if (magnitude <= most) return magnitude;
  if (!std::isfinite(magnitude)) return infinity;  // double's own range
  if (std::isnan(value)) return magnitude;         // in every order
  if (std::isinf(value)) return infinity;          // a term is: the others may add up to its opposite
  double const of_one_sign = (magnitude + std::abs(value)) / 2;
  double const of_other_sign = (magnitude - std::abs(value)) / 2;
  if (of_one_sign <= 0.99 * most) return magnitude;
  bool const overflows = of_other_sign <= 0.99 * most && std::abs(value) >= 1.01 * most;
  return overflows || of_other_sign <= 0x1p-30 * magnitude ? magnitude : infinity;
}

}  // namespace tessera::verify
