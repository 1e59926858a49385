#pragma once
/// \file
/// The types in which references compute: 64-bit integers and double for floats, so that one implementation of a
/// formula serves all dtypes.
///
/// Example: stored(wide(a) + wide(b)) is the sum of two elements: of integers modulo 2^32, of floats in double.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace tessera::verify {

/// Returns the element in the wider type.
template <class T>
[[nodiscard]] constexpr auto wide(T const& element) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(element);
  } else {
    return static_cast<double>(element);
  }
}

/// Returns a result of the wider type as ExpectedField stores it: integers wrap as int32; floats are rounded when they
/// are compared.
[[nodiscard]] constexpr double stored(std::int64_t result) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(result));
}
[[nodiscard]] constexpr double stored(double result) { return result; }

/// Returns the mean of elements whose sum is beyond double's range, and the mean of the finite elements' magnitudes.
template <class T>
[[nodiscard]] std::pair<double, double> means_of_huge(T const* elements, std::size_t count) {
  long double sum = 0;
  long double magnitude = 0;
  for (std::size_t j = 0; j < count; ++j) {
    auto const element = static_cast<long double>(elements[j]);
    sum += element;
    if (std::isfinite(element)) magnitude += std::abs(element);
  }
  auto const divisor = static_cast<long double>(count);
  return {static_cast<double>(sum / divisor), static_cast<double>(magnitude / divisor)};
}

/// Returns the scale of a sum in T: the sum of the terms' magnitudes, or infinity (not checked) if the result depends
/// on the order of the additions, because some partial sums may leave T's range. In any order, a partial sum lies
/// between the sum of the negative terms and the sum of the positive terms. So the result does not depend on the order
/// if
/// - both sums are in the range, with 1% to spare for the roundings of partial sums;
/// - one of them is not in the range, and neither is the total: it is an infinity in every order;
/// - all terms have the same sign: then no partial sum is larger than the total.
///
/// Example, float: 3e38 + 3e38 is infinity, 3e38 + 2e38 - 3e38 is unknown, 3e38 - 2e38 is 1e38.
template <class T>
[[nodiscard]] inline double scale_of_sum(double value, double magnitude) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr auto most = static_cast<double>(std::numeric_limits<T>::max());
  if (magnitude <= most) return magnitude;
  if (!std::isfinite(magnitude)) return infinity;  // exceeds the range of double
  if (std::isnan(value)) return magnitude;         // in every order
  // one term is infinite; the others may add up to the opposite infinity
  if (std::isinf(value)) return infinity;
  double const of_one_sign = (magnitude + std::abs(value)) / 2;
  double const of_other_sign = (magnitude - std::abs(value)) / 2;
  if (of_one_sign <= 0.99 * most) return magnitude;
  bool const overflows = of_other_sign <= 0.99 * most && std::abs(value) >= 1.01 * most;
  return overflows || of_other_sign <= 0x1p-30 * magnitude ? magnitude : infinity;
}

}  // namespace tessera::verify
