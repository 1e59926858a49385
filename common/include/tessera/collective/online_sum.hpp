#pragma once
/// \file
/// The maximum of a set of numbers and the sum of their exponentials relative to it, in one sweep (online softmax).
///
/// {max, sum} stands for numbers x_j with max = max_j x_j and sum = sum_j e^(x_j - max). Two pairs are merged by
/// scaling both sums to the larger maximum. Merging is associative and commutative; {-infinity, 0} stands for no
/// numbers. A number -infinity adds nothing, so that -infinity - -infinity is never computed. inverse() is NaN if the
/// numbers include NaN or +infinity, or are all -infinity; SciPy's softmax is NaN in every element then, too.
///
/// Source: Milakov and Gimelshein, Online normalizer calculation for softmax (2018).
///
/// May be called by any thread. No scratch, no barriers.
///
/// Example: {2, 1} and {3, 1.5} -> {3, e^-1 + 1.5}.

#include <Kokkos_Core.hpp>

#include <tessera/collective/exponential.hpp>
#include <tessera/collective/operators.hpp>

namespace tessera::collective {

/// The maximum of an empty set.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr T minus_infinity() {
  return detail::least<T>;
}

template <class T>
struct OnlineSum {
  T max = minus_infinity<T>();
  T sum = 0;

  /// Returns the factor that turns e^(x_j - max) into the softmax: 1 / sum, or NaN.
  [[nodiscard]] KOKKOS_FUNCTION T inverse() const {
    return T(1) / sum + (max - max);  // infinity - infinity is NaN
  }

  /// Adds one number: one exponential and one or two comparisons.
  KOKKOS_FUNCTION void add(T x) {
    if (x > max) {
      sum = sum * exp_nonpositive(max - x) + T(1);
      max = x;
    } else if (x != minus_infinity<T>()) {
      sum += exp_nonpositive(x - max);
    }
  }
};

/// The online sums of N columns.
template <class T, int N>
struct OnlinePack {
  OnlineSum<T> at[N];
};

/// Returns the number to subtract before taking exponentials: `max`, or 0 if max is -infinity.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T online_reference(T max) {
  return max == minus_infinity<T>() ? T(0) : max;
}

/// The operator that merges two online sums, for all reductions.
template <class T>
struct MergeOnlineSums {
  static constexpr bool commutative = true;
  /// Roundings that a merge adds to the longer chain, in units of u: an exponential, a product, a sum. Errors of the
  /// exponentials' arguments are part of the problem's error bound: in any order their magnitudes add up to max - x_j.
  static constexpr double rounding_steps = 6;

  [[nodiscard]] KOKKOS_FUNCTION constexpr OnlineSum<T> identity() const { return {}; }
  [[nodiscard]] KOKKOS_FUNCTION OnlineSum<T> operator()(OnlineSum<T> const& a, OnlineSum<T> const& b) const {
    T const larger = a.max >= b.max ? a.max : b.max;
    T const max = a.max != a.max ? a.max : larger;  // keeps a NaN
    T const reference = online_reference(max);
    return {max, a.sum * exp_nonpositive(a.max - reference) + b.sum * exp_nonpositive(b.max - reference)};
  }
};

}  // namespace tessera::collective
