#pragma once
/// \file
/// The maximum of some numbers and the sum of their exponentials relative to it, in one sweep: what a softmax needs to
/// know of a row.
///
/// {max, sum} stands for numbers x_j with max = max_j x_j and sum = sum_j e^(x_j - max). Two of them are merged by
/// bringing both sums to the larger maximum. Associative and commutative; nothing is {-infinity, 0}. No number is
/// -infinity minus -infinity: -infinities count as nothing. A NaN or +infinity among the numbers makes inverse() NaN, as
/// it makes every element of SciPy's softmax, and so does nothing but -infinities.
///
/// Source: Milakov and Gimelshein, Online normalizer calculation for softmax (2018).
///
/// Who calls: any thread, by itself. Scratch, barriers: none.
///
/// Example: {2, 1} and {3, 1.5} -> {3, e^-1 + 1.5}.

#include <Kokkos_Core.hpp>

#include <tessera/collective/exponential.hpp>
#include <tessera/collective/operators.hpp>

namespace tessera::collective {

/// The maximum of nothing.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr T minus_infinity() {
  return detail::least<T>;
}

template <class T>
struct OnlineSum {
  T max = minus_infinity<T>();
  T sum = 0;

  /// What the numbers' exponentials are multiplied by, after the maximum was subtracted: 1 / sum, or NaN.
  [[nodiscard]] KOKKOS_FUNCTION T inverse() const {
    return T(1) / sum + (max - max);  // infinity - infinity is NaN
  }

  /// One more number: an exponential, and no more than a comparison besides.
  KOKKOS_FUNCTION void add(T x) {
    if (x > max) {
      sum = sum * exp_nonpositive(max - x) + T(1);
      max = x;
    } else if (x != minus_infinity<T>()) {
      sum += exp_nonpositive(x - max);
    }
  }
};

/// Those of N columns side by side.
template <class T, int N>
struct OnlinePack {
  OnlineSum<T> at[N];
};

/// What exponentials can be taken relative to where the maximum is `max`: itself, or 0 where there is nothing but
/// -infinities.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T online_reference(T max) {
  return max == minus_infinity<T>() ? T(0) : max;
}

/// The operator that merges two, for reductions of every kind.
template <class T>
struct MergeOnlineSums {
  static constexpr bool commutative = true;
  /// Roundings that a merge adds to the longer chain, in units of u: an exponential, a product, a sum. (The error of
  /// the exponentials' arguments is in the problem's bound: whatever the order, their sizes sum up to max - x_j.)
  static constexpr double rounding_steps = 6;

  [[nodiscard]] KOKKOS_FUNCTION constexpr OnlineSum<T> identity() const { return {}; }
  [[nodiscard]] KOKKOS_FUNCTION OnlineSum<T> operator()(OnlineSum<T> const& a, OnlineSum<T> const& b) const {
    T const larger = a.max >= b.max ? a.max : b.max;
    T const max = a.max != a.max ? a.max : larger;  // a NaN stays one
    T const reference = online_reference(max);
    return {max, a.sum * exp_nonpositive(a.max - reference) + b.sum * exp_nonpositive(b.max - reference)};
  }
};

}  // namespace tessera::collective
