#pragma once
/// \file
/// Proofs that sums of floating-point numbers are exact in any order. If a proof holds, a reference requires equality.
///
/// If all terms are multiples of a power of two g, the grid, so are their sums. Let p be the number of bits of a dtype
/// (24 for float, 53 for double). A multiple of g with a magnitude of at most 2^p * g is a number of the dtype, so that
/// this sum is not rounded.
/// - Sums (SumOracle in sum_oracle.hpp): if the sum of the magnitudes is at most 2^p * g, so is the sum of any subset
///   of the terms. Then no addition in any order rounds, whether or not it is fused with an exact product.
/// - ScanProof: the sum of a contiguous range of terms is the difference of two prefixes. If the largest prefix is at
///   most 2^p * g above the smallest, no addition of two neighbouring ranges rounds. Then a scan is exact in any
///   association.
///
/// Below the normal range the grid is at best the smallest denormal, and sums are still exact. GPU atomics may flush
/// them to 0, and the verifier allows for it (see verify.hpp). Source of the argument: N. Higham, Accuracy and
/// Stability of Numerical Algorithms, 2nd ed., 2.5 (sums without rounding) and 2.1 (integers in floating point).

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <tessera/core/half.hpp>
#include <tessera/core/host_threads.hpp>

namespace tessera::verify {

/// The largest power of two that divides every added number.
class Grid {
 public:
  /// Zeros are on every grid, numbers that are not finite on none.
  void add(double value) {
    lowest_ = std::min(lowest_, place_of(std::bit_cast<std::uint64_t>(value)));
    finite_ = finite_ && std::isfinite(value);
  }
  /// All of an array. Without branches, and with numbers of one width, so that compilers make vectors of neighbours.
  template <class T>
  void add(T const* values, std::size_t count) {
    std::int64_t lowest = lowest_;
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto const bits = std::bit_cast<std::uint64_t>(static_cast<double>(values[i]));
      lowest = std::min(lowest, place_of(bits));
      largest = std::max(largest, bits << 1);
    }
    lowest_ = lowest;
    finite_ = finite_ && largest < std::uint64_t{0x7ff} << 53;
  }
  void merge(Grid const& other) {
    lowest_ = std::min(lowest_, other.lowest_);
    finite_ = finite_ && other.finite_;
  }

  /// Returns the power of two; infinity if only zeros were added.
  [[nodiscard]] double spacing() const {
    return lowest_ == none ? std::numeric_limits<double>::infinity()
                           : std::ldexp(1.0, static_cast<int>(lowest_) - 1023);
  }

  /// Returns the grid of products of a number of this grid and a number of the other.
  [[nodiscard]] Grid times(Grid const& other) const {
    Grid product;
    product.finite_ = finite_ && other.finite_;
    if (lowest_ != none && other.lowest_ != none) product.lowest_ = lowest_ + other.lowest_ - 1023;
    return product;
  }

  /// True if every multiple of the grid up to `magnitude` (itself a sum of multiples, in double) is a number of T. The
  /// limit is strictly below 2^p, because `magnitude` may have been rounded up to 2^p.
  template <class T>
  [[nodiscard]] bool holds(double magnitude) const {
    using Limits = std::numeric_limits<T>;
    if (!finite_ || !(magnitude <= static_cast<double>(Limits::max()))) return false;
    if (lowest_ == none) return true;  // nothing but zeros
    int const exponent = static_cast<int>(lowest_) - 1023;
    return exponent >= Limits::min_exponent - Limits::digits && magnitude < power_of_two(exponent + Limits::digits);
  }

 private:
  // Instead of std::ldexp, which would take longer than everything else here; references call this for many elements.
  [[nodiscard]] static double power_of_two(int exponent) {
    if (exponent > 1023) return std::numeric_limits<double>::infinity();
    if (exponent < -1022) return std::ldexp(1.0, exponent);
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  }

  // Of a number by its bits: the trailing bit's place, that of the implicit one where the fraction is 0. Zeros have
  // none.
  [[nodiscard]] static std::int64_t place_of(std::uint64_t bits) {
    constexpr std::uint64_t implicit = std::uint64_t{1} << 52;
    auto const exponent = static_cast<std::int64_t>((bits >> 52) & 0x7ff);
    auto const trailing = static_cast<std::int64_t>(std::countr_zero((bits & (implicit - 1)) | implicit));
    return (bits << 1) == 0 ? none : std::max(exponent, std::int64_t{1}) - 52 + trailing;
  }

  static constexpr std::int64_t none = std::numeric_limits<int>::max();
  std::int64_t lowest_ = none;  // exponent of the grid, biased
  bool finite_ = true;
};

/// True if numbers with `bits` significant bits represent every element. Numbers that are not finite fit into any
/// number of bits.
template <class T>
[[nodiscard]] bool fit_into_bits(T const* values, std::size_t count, int bits) {
  std::atomic<bool> fit = true;
  for_blocks(count, part_elements(), [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && fit; ++i) {
      auto const value = std::bit_cast<std::uint64_t>(static_cast<double>(values[i]));
      if ((value & ((std::uint64_t{1} << (53 - bits)) - 1)) != 0) fit = false;
    }
  });
  return fit;
}

/// Returns the grid of an array.
template <class T>
[[nodiscard]] Grid grid_of(T const* values, std::size_t count) {
  Grid grid;
  if (count <= part_elements()) {
    grid.add(values, count);
    return grid;
  }
  std::vector<Grid> grids(blocks_in(count, part_elements()));
  for_blocks(count, part_elements(), [&](std::size_t block, std::size_t begin, std::size_t end) {
    grids[block].add(values + begin, end - begin);
  });
  for (Grid const& of_block : grids) grid.merge(of_block);
  return grid;
}

/// True if sums of products a[i] * b[j] are exact in any order, as long as the sum of the products' magnitudes is at
/// most `most`. `a` and `b` are arrays in host memory.
template <class T, class Array, class Other>
[[nodiscard]] bool exact_products(Array const& a, Other const& b, double most) {
  return grid_of(a.data(), a.size()).times(grid_of(b.data(), b.size())).template holds<T>(most);
}

/// True if a * b is a number of T's arithmetic type. Adding a number to it then rounds once in that type, fused or not.
template <class T>
[[nodiscard]] bool is_exact_product(T a, T b) {
  double const product = static_cast<double>(a) * static_cast<double>(b);
  if constexpr (std::is_same_v<T, double>) {
    // The rounding error of a smaller product may be below the smallest number, and the test would not detect it.
    return a == 0 || b == 0 || (std::abs(product) >= 0x1p-960 && std::fma(a, b, -product) == 0);
  } else {
    return static_cast<double>(static_cast<Arithmetic<T>>(product)) == product;
  }
}

/// Proof for scans: sums of contiguous ranges in any association. It covers all segments together.
class ScanProof {
 public:
  /// Begins a new segment. Its first prefix is 0.
  void begin() {
    end_segment();
    own_ = {};
    begun_ = true;
  }
  void add(double term, double prefix) {
    grid_.add(term);
    own_.add({prefix, prefix});
  }
  /// Appends the terms of another proof. The other proof continues the last segment of this one until it begins its
  /// own.
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
  // The range of a segment's prefixes. It always includes the first prefix, 0.
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
  Range before_;        // of the segment that the first term continues
  Range own_;           // of the last segment
  double widest_ = 0;   // of the segments between
  bool begun_ = false;  // whether a segment began here
};

}  // namespace tessera::verify
