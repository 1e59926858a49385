#pragma once
/// \file
/// The maximum of some numbers and the sum of their exponentials relative to it, in one sweep: what a softmax needs to
/// know of a row.
///
/// {max, sum} stands for numbers x_j with max = max_j x_j and sum = sum_j e^(x_j - max). Two of them are merged by
/// bringing both sums to the larger maximum. Merging is associative and commutative; {-infinity, 0} stands for no
/// numbers. A number -infinity adds nothing, so that -infinity - -infinity is never computed. inverse() is NaN if there
/// is a NaN
/// or +infinity among the numbers, or nothing but -infinity: then SciPy's softmax is NaN in every element, too.
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

/// The maximum of no numbers.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr T minus_infinity() {
  return detail::least<T>;
}

template <class T>
struct OnlineSum {
  T max = minus_infinity<T>();
  T sum = 0;

  /// The factor that turns e^(x_j - max) into the softmax: 1 / sum, or NaN.
  [[nodiscard]] KOKKOS_FUNCTION T inverse() const {
    return T(1) / sum + (max - max);  // infinity - infinity is NaN
  }

  /// Adds one number, which takes one exponential and one comparison.
  KOKKOS_FUNCTION void add(T x) {
    if (x > max) {
      sum = sum * exp_nonpositive(max - x) + T(1);
      max = x;
    } else if (x != minus_infinity<T>()) {
      sum += exp_nonpositive(x - max);
    }
  }
};

/// The online sums of N columns side by side.
template <class T, int N>
struct OnlinePack {
  OnlineSum<T> at[N];
};

/// The number that is subtracted before exponentials are taken: `max`, or 0 if there is nothing but -infinity.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T online_reference(T max) {
  return max == minus_infinity<T>() ? T(0) : max;
}

/// The operator that merges two, for reductions of every kind.
template <class T>
struct MergeOnlineSums {
  static constexpr bool commutative = true;
  /// Roundings that a merge adds to the longer chain, in units of u: an exponential, a product, a sum. (The errors of
  /// the exponentials' arguments are in the problem's bound: in any order their magnitudes add up to max - x_j.)
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
