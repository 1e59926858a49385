#pragma once
/// \file
/// The type in which products and sums are made.

#include <Kokkos_Core.hpp>

#include <concepts>
#include <type_traits>

#include <tessera/core/half.hpp>

namespace tessera::collective {

namespace detail {
template <class T>
struct AccumulatorOf {
  using type = T;
};
template <ShortFloat T>
struct AccumulatorOf<T> {
  using type = float;
};
template <std::integral T>
struct AccumulatorOf<T> {
  using type = std::make_unsigned_t<T>;
};
}  // namespace detail

/// T itself, except for integers, whose unsigned type wraps modulo 2^n without undefined behaviour, and for floats of
/// 16 bits, which use float.
template <class T>
using Accumulator = typename detail::AccumulatorOf<T>::type;

/// The type in which a sum is stored: the accumulator; but for floats of 16 bits it is T, to which the sum is rounded.
template <class T>
using StoredSum = std::conditional_t<ShortFloat<T>, T, Accumulator<T>>;

/// a * b in the accumulator's type.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION Accumulator<T> product(T const& a, T const& b) {
  return static_cast<Accumulator<T>>(a) * static_cast<Accumulator<T>>(b);
}

}  // namespace tessera::collective
