#pragma once
/// \file
/// Mean and sum of squared deviations of a part of a row, and their merge. They give a variance in one sweep, without
/// E[x^2] - E[x]^2.
///
/// Sources: B. P. Welford, Note on a method for calculating corrected sums of squares and products (1962), to add an
/// element; T. F. Chan, G. H. Golub, R. J. LeVeque, Updating formulae and a pairwise algorithm for computing sample
/// variances (1979), to merge two parts.

#include <cstddef>

#include <Kokkos_Macros.hpp>

namespace tessera::layernorm {

/// The moments of `count` numbers.
template <class T>
struct Moments {
  T count = 0;
  T mean = 0;
  T squares = 0;  ///< sum of the squared distances from the mean

  /// Adds a value; `number` is its position, from 1 on. The caller counts in an integer: a float stops counting at
  /// 2^24.
  ///
  /// Example: 1 3 -> count 2, mean 2, squares 2.
  KOKKOS_FUNCTION void add(T value, std::size_t number) {
    count = static_cast<T>(number);
    T const distance = value - mean;
    mean += distance / count;
    squares += distance * (value - mean);
  }
};

/// Returns the moments of both parts together. An empty part does not change any bit.
struct MergeMoments {
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION Moments<T> operator()(Moments<T> const& a, Moments<T> const& b) const {
    if (b.count == T(0)) return a;
    if (a.count == T(0)) return b;
    T const count = a.count + b.count;
    T const distance = b.mean - a.mean;
    T const share = b.count / count;
    return {count, a.mean + distance * share, a.squares + b.squares + distance * distance * (a.count * share)};
  }
};

}  // namespace tessera::layernorm
