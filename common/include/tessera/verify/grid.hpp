#pragma once
/// \file
/// Proofs that sums of floating-point numbers are exact, whatever their order. Where a proof holds, a reference asks
/// for equality.
///
/// If all terms are multiples of a power of two g, the grid, so are their sums. Such a sum is a number of a dtype with
/// p bits (24 for float, 53 for double) if it is at most 2^p * g in magnitude: then it is not rounded.
/// - SumProof: if the sum of the magnitudes is at most 2^p * g, so is the sum of any of the terms. Then no addition in
///   any order rounds anything, fused with an exact product or not.
/// - ScanProof: the sum of a contiguous range of terms is the difference of two prefixes. If the largest prefix is no
///   more than 2^p * g above the smallest, no addition of two neighbouring ranges rounds anything. Then a scan is exact
///   in any association.
/// Below the normal range the grid is the smallest denormal at best, and sums are still exact; but atomics of a GPU may
/// flush them, for which the verifier allows (see verify.hpp). (Source of the argument: exactness of sums without
/// rounding, N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 2.5, and integers in floating point,
/// 2.1.)

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <tessera/core/half.hpp>

namespace tessera::verify {

/// The largest power of two of which every number is a multiple that was added.
class Grid {
 public:
  /// Zeros lie on every grid, what is not finite on none.
  void add(double value) {
    auto const bits = std::bit_cast<std::uint64_t>(value);
    auto const exponent = static_cast<int>((bits >> 52) & 0x7ff);
    std::uint64_t const fraction = bits & 0xf'ffff'ffff'ffffU;
    if (exponent == 0x7ff) finite_ = false;
    if ((bits << 1) == 0) return;
    // The trailing bit's place: that of the implicit one where the fraction is 0.
    int const place = std::max(exponent, 1) - (fraction == 0 ? 0 : 52 - std::countr_zero(fraction));
    lowest_ = std::min(lowest_, place);
  }
  void merge(Grid const& other) {
    lowest_ = std::min(lowest_, other.lowest_);
    finite_ = finite_ && other.finite_;
  }

  /// The power of two itself; infinity of nothing but zeros.
  [[nodiscard]] double spacing() const {
    return lowest_ == none ? std::numeric_limits<double>::infinity() : std::ldexp(1.0, lowest_ - 1023);
  }

  /// The grid of products of a number of this grid and one of the other.
  [[nodiscard]] Grid times(Grid const& other) const {
    Grid product;
    product.finite_ = finite_ && other.finite_;
    if (lowest_ != none && other.lowest_ != none) product.lowest_ = lowest_ + other.lowest_ - 1023;
    return product;
  }

  /// True if every multiple of the grid up to `magnitude` (itself a sum of multiples, in double) is a number of T.
  /// Strictly below 2^p, since `magnitude` may have been rounded to that.
  template <class T>
  [[nodiscard]] bool holds(double magnitude) const {
    using Limits = std::numeric_limits<T>;
    if (!finite_ || !(magnitude <= static_cast<double>(Limits::max()))) return false;
    if (lowest_ == none) return true;  // nothing but zeros
    int const exponent = lowest_ - 1023;
    return exponent >= Limits::min_exponent - Limits::digits && magnitude < power_of_two(exponent + Limits::digits);
  }

 private:
  // std::ldexp takes longer than all else here, and references ask for many elements.
  [[nodiscard]] static double power_of_two(int exponent) {
    if (exponent > 1023) return std::numeric_limits<double>::infinity();
    if (exponent < -1022) return std::ldexp(1.0, exponent);
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  }

  static constexpr int none = std::numeric_limits<int>::max();
  int lowest_ = none;  // exponent of the grid, biased
  bool finite_ = true;
};

/// True if numbers of so many significant bits represent every element. What is not finite has as many as you like.
template <class T>
[[nodiscard]] bool fit_into_bits(T const* values, std::size_t count, int bits) {
  for (std::size_t i = 0; i < count; ++i) {
    auto const value = std::bit_cast<std::uint64_t>(static_cast<double>(values[i]));
    if ((value & ((std::uint64_t{1} << (53 - bits)) - 1)) != 0) return false;
  }
  return true;
}

/// Of an array.
template <class T>
[[nodiscard]] Grid grid_of(T const* values, std::size_t count) {
  Grid grid;
  for (std::size_t i = 0; i < count; ++i) grid.add(static_cast<double>(values[i]));
  return grid;
}

/// True if sums of products of an element of `a` and one of `b`, arrays in host memory, are exact in any order as long as
/// their magnitudes sum up to `most`.
template <class T, class Array, class Other>
[[nodiscard]] bool exact_products(Array const& a, Other const& b, double most) {
  return grid_of(a.data(), a.size()).times(grid_of(b.data(), b.size())).template holds<T>(most);
}

/// True if a * b is a number of the type that T's operations are made in: then adding something to it rounds once there, fused
/// or not.
template <class T>
[[nodiscard]] bool is_exact_product(T a, T b) {
  double const product = static_cast<double>(a) * static_cast<double>(b);
  if constexpr (std::is_same_v<T, double>) {
    // The part that a smaller product loses may be below the smallest number: the test would not see it.
    return a == 0 || b == 0 || (std::abs(product) >= 0x1p-960 && std::fma(a, b, -product) == 0);
  } else {
    return static_cast<double>(static_cast<Arithmetic<T>>(product)) == product;
  }
}

/// Of sums of terms in any order.
class SumProof {
 public:
  /// A term, or a product of two that is exact in double.
  void add(double term) {
    grid_.add(term);
    magnitude_ += std::abs(term);
  }
  /// The product of two numbers of a dtype. Of float it is exact in double; of double it may be rounded here, and then it
  /// is not exact.
  template <class T>
  void add_product(T a, T b) {
    double const product = static_cast<double>(a) * static_cast<double>(b);
    add(product);
    if constexpr (std::is_same_v<T, double>) {
      if (!is_exact_product(a, b)) exact_products_ = false;
    }
  }

  /// The terms of another proof as well.
  void merge(SumProof const& other) {
    grid_.merge(other.grid_);
    magnitude_ += other.magnitude_;
    exact_products_ = exact_products_ && other.exact_products_;
  }

  template <class T>
  [[nodiscard]] bool holds() const {
    return exact_products_ && grid_.holds<T>(magnitude_);
  }
  /// True if `sum`, of all or some terms, is exact in the type that T's sums are made in, but one that differs from it by a term
  /// may be rounded to the same number of T: ExpectedField::rounded_sums.
  template <class T>
  [[nodiscard]] bool rounds(double sum) const {
    return ShortFloat<T> && !grid_.holds<T>(std::abs(sum));
  }
  [[nodiscard]] double magnitude() const { return magnitude_; }
  /// ExpectedField::grid.
  [[nodiscard]] double spacing() const { return grid_.spacing(); }

 private:
  Grid grid_;
  double magnitude_ = 0;
  bool exact_products_ = true;
};

/// Of scans: sums of contiguous ranges, in any association. All segments together.
class ScanProof {
 public:
  /// A new segment: its first prefix is 0.
  void begin() {
    end_segment();
    own_ = {};
    begun_ = true;
  }
  void add(double term, double prefix) {
    grid_.add(term);
    own_.add({prefix, prefix});
  }
  /// The terms after these. The other proof goes on with this one's segment until it begins one.
  void merge(ScanProof const& later) {
    grid_.merge(later.grid_);
    own_.add(later.begun_ ? later.before_ : later.own_);
    if (!later.begun_) return;
    end_segment();
    widest_ = std::max(widest_, later.widest_);
    own_ = later.own_;
    begun_ = true;
  }

  template <class T>
  [[nodiscard]] bool holds() const {
    return grid_.holds<T>(std::max({widest_, own_.width(), before_.width()}));
  }

 private:
  // Prefixes of a segment; 0, the first one, is always among them.
  struct Range {
    double smallest = 0;
    double largest = 0;

    void add(Range const& other) {
      smallest = std::min(smallest, other.smallest);
      largest = std::max(largest, other.largest);
    }
    [[nodiscard]] double width() const { return largest - smallest; }
  };

  void end_segment() {
    if (begun_) {
      widest_ = std::max(widest_, own_.width());
    } else {
      before_ = own_;
    }
  }

  Grid grid_;
  Range before_;        // of the segment that the first term goes on with
  Range own_;           // of the last segment
  double widest_ = 0;   // of the segments between
  bool begun_ = false;  // whether there is a segment that began here
};

}  // namespace tessera::verify
