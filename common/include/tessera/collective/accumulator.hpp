#pragma once
/// \file
/// What products and sums are made in.

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

/// T itself, but unsigned for integers, which then wrap modulo 2^n without undefined behaviour, and float for floats of 16
/// bits.
template <class T>
using Accumulator = typename detail::AccumulatorOf<T>::type;

/// What a sum is stored as: the accumulator, but of floats of 16 bits, whose sums are rounded then, T.
template <class T>
using StoredSum = std::conditional_t<ShortFloat<T>, T, Accumulator<T>>;

/// a * b in the accumulator's type.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION Accumulator<T> product(T const& a, T const& b) {
  return static_cast<Accumulator<T>>(a) * static_cast<Accumulator<T>>(b);
}

}  // namespace tessera::collective
