#pragma once
/// \file
/// The type in which products and sums are computed.

#include <Kokkos_Core.hpp>

#include <concepts>
#include <type_traits>

#include <tessera/core/half.hpp>

namespace tessera::collective {

/// The accumulator of T: float for 16-bit floats; the unsigned type for integers, so that overflow wraps modulo 2^n
/// without undefined behaviour; otherwise T.
template <class T>
using Accumulator = typename std::conditional_t<std::integral<T>, std::make_unsigned<T>,
                                                std::conditional<ShortFloat<T>, float, T>>::type;

/// The type in which a sum is stored: T for 16-bit floats (the sum is rounded to T), otherwise the accumulator's type.
template <class T>
using StoredSum = std::conditional_t<ShortFloat<T>, T, Accumulator<T>>;

/// Returns a * b in the accumulator's type.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION Accumulator<T> product(T const& a, T const& b) {
  return static_cast<Accumulator<T>>(a) * static_cast<Accumulator<T>>(b);
}

}  // namespace tessera::collective
