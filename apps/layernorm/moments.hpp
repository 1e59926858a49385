#pragma once
/// \file
/// Mean and sum of squared deviations of a part of a row, and their merge: what makes a variance in one sweep, without
/// E[x^2] - E[x]^2.
///
/// Sources: B. P. Welford, Note on a method for calculating corrected sums of squares and products (1962), for one element
/// more; T. F. Chan, G. H. Golub, R. J. LeVeque, Updating formulae and a pairwise algorithm for computing sample variances
/// (1979), for two parts.

#include <cstdint>

#include <Kokkos_Macros.hpp>

namespace tessera::layernorm {

/// Of `count` numbers. The count is no T: a float stands still at 2^24.
template <class T>
struct Moments {
  std::uint64_t count = 0;
  T mean = 0;
  T squares = 0;  ///< sum of the squared distances from the mean

  /// Example: 1 3 -> count 2, mean 2, squares 2.
  KOKKOS_FUNCTION void add(T value) {
    ++count;
    T const distance = value - mean;
    mean += distance / static_cast<T>(count);
    squares += distance * (value - mean);
  }
};

/// The moments of both parts together. An empty part changes nothing, not a bit.
struct MergeMoments {
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION Moments<T> operator()(Moments<T> const& a, Moments<T> const& b) const {
    if (b.count == 0) return a;
    if (a.count == 0) return b;
    std::uint64_t const count = a.count + b.count;
    T const distance = b.mean - a.mean;
    T const share = static_cast<T>(b.count) / static_cast<T>(count);
    return {count, a.mean + distance * share,
            a.squares + b.squares + distance * distance * (static_cast<T>(a.count) * share)};
  }
};

}  // namespace tessera::layernorm
