#pragma once
/// \file
/// The types that references compute in, 64 bits for integers and double for floats, so that one text of a formula serves all
/// dtypes.
///
/// Example: stored(wide(a) + wide(b)) is the sum of two elements: of integers modulo 2^32, of floats in double.

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

/// The scale of a sum whose terms have magnitudes of this sum: infinity where some of them may add up to more than T has.
template <class T>
[[nodiscard]] constexpr double scale_of(double magnitude) {
  bool const in_range = magnitude <= static_cast<double>(std::numeric_limits<T>::max());
  return in_range ? magnitude : std::numeric_limits<double>::infinity();
}

}  // namespace tessera::verify
