#pragma once
/// \file
/// Matrix products for the references: plain loops over blocks, in double, with the scale of the errors.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <tessera/core/host_threads.hpp>

namespace tessera::verify {

/// Returns |value|; 0 for infinities and NaN.
[[nodiscard]] inline double magnitude_of(double value) { return std::isfinite(value) ? std::abs(value) : 0.0; }

/// A row-major matrix and the errors of its elements. `scale` [rows, cols] enters the scale of a product as the value
/// enters the product. `low`, if not empty, is the difference between the elements in twice the precision and the
/// values.
struct Factor {
  std::vector<double> value;
  std::vector<double> low;
  std::vector<double> scale;

  void resize(std::size_t count, bool twice) {
    value.resize(count);
    scale.resize(count);
    low.resize(twice ? count : 0);
  }
  void set(std::size_t i, long double wide, double of_scale) {
    value[i] = static_cast<double>(wide);
    scale[i] = of_scale;
    if (!low.empty()) {
      auto const lost = static_cast<double>(wide - static_cast<long double>(value[i]));
      low[i] = std::isfinite(lost) ? lost : 0.0;
    }
  }
};

/// Returns a factor of `rows` x `cols` exact elements. Rows in memory are `leading` elements apart.
template <class T>
[[nodiscard]] Factor factor_of(T const* elements, std::size_t rows, std::size_t cols, std::size_t leading) {
  Factor factor;
  factor.resize(rows * cols, false);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) {
      auto const value = static_cast<double>(elements[r * leading + c]);
      factor.value[r * cols + c] = value;
      factor.scale[r * cols + c] = magnitude_of(value);
    }
  }
  return factor;
}

/// Sums of products a b of a [m, k] and b [k, n]. Every call of add() continues the sums.
class ProductSums {
 public:
  /// \param twice sums in twice the precision of double, for the dtype double
  /// \param side_by_side processes rows of a concurrently on all cores, for callers that are not parallel. The bits of
  ///   the result do not depend on it.
  ProductSums(std::size_t m, std::size_t n, bool twice, bool side_by_side = false)
      : m_(m), n_(n), side_by_side_(side_by_side), value_(m * n), low_(twice ? m * n : 0), scale_(m * n) {}

  void add(Factor const& a, Factor const& b, std::size_t k) {
    // A block of b with this many k and columns stays in the cache while all rows of a are processed.
    constexpr std::size_t depth = 128;
    constexpr std::size_t width = 256;
    constexpr std::size_t rows_together = 16;
    for_blocks(m_, side_by_side_ ? rows_together : std::max<std::size_t>(1, m_),
               [&](std::size_t, std::size_t begin, std::size_t end) {
                 for (std::size_t j = 0; j < n_; j += width) {
                   for (std::size_t k0 = 0; k0 < k; k0 += depth) {
                     for (std::size_t i = begin; i < end; ++i) {
                       add_block(a, b, k, i, k0, std::min(depth, k - k0), j, std::min(width, n_ - j));
                     }
                   }
                 }
               });
  }

  [[nodiscard]] double value(std::size_t i) const {
    return !low_.empty() && std::isfinite(value_[i]) ? value_[i] + low_[i] : value_[i];
  }
  [[nodiscard]] double scale(std::size_t i) const { return scale_[i]; }

 private:
  void add_block(Factor const& a, Factor const& b, std::size_t k, std::size_t i, std::size_t k0, std::size_t depth,
                 std::size_t j, std::size_t width) {
    double* const value = &value_[i * n_ + j];
    double* const scale = &scale_[i * n_ + j];
    std::size_t kk = 0;
    if (low_.empty()) {
      for (; kk + 4 <= depth; kk += 4) {
        std::size_t const of_a = i * k + k0 + kk;
        std::size_t const of_b = (k0 + kk) * n_ + j;
        add_four(&a.value[of_a], &b.value[of_b], n_, width, value);
        add_four(&a.scale[of_a], &b.scale[of_b], n_, width, scale);
      }
    }
    for (; kk < depth; ++kk) {
      std::size_t const of_a = i * k + k0 + kk;
      std::size_t const of_b = (k0 + kk) * n_ + j;
      if (low_.empty()) {
        add_one(a.value[of_a], &b.value[of_b], width, value);
      } else {
        double const a_low = a.low.empty() ? 0.0 : a.low[of_a];
        add_twice(a.value[of_a], a_low, &b.value[of_b], width, value, &low_[i * n_ + j]);
      }
      add_one(a.scale[of_a], &b.scale[of_b], width, scale);
    }
  }

  static void add_one(double a, double const* __restrict__ b, std::size_t count, double* __restrict__ sum) {
    for (std::size_t j = 0; j < count; ++j) sum[j] += a * b[j];
  }

  static void add_four(double const* a, double const* __restrict__ b, std::size_t stride, std::size_t count,
                       double* __restrict__ sum) {
    double const a0 = a[0];
    double const a1 = a[1];
    double const a2 = a[2];
    double const a3 = a[3];
    for (std::size_t j = 0; j < count; ++j) {
      sum[j] += (a0 * b[j] + a1 * b[stride + j]) + (a2 * b[2 * stride + j] + a3 * b[3 * stride + j]);
    }
  }

  // Adds (a + a_low) * b[j], without rounding the products of a: Dekker's product, Knuth's sum.
  static void add_twice(double a, double a_low, double const* __restrict__ b, std::size_t count,
                        double* __restrict__ sum, double* __restrict__ low) {
    for (std::size_t j = 0; j < count; ++j) {
      double const product = a * b[j];
      double const total = sum[j] + product;
      double const part = total - sum[j];
      double const lost = lost_in_product(a, b[j], product) + a_low * b[j];
      double const left_out = ((sum[j] - (total - part)) + (product - part)) + lost;
      low[j] += std::abs(left_out) <= std::numeric_limits<double>::max() ? left_out : 0.0;
      sum[j] = total;
    }
  }

  // Returns the rounding error of the product; 0 if it cannot be computed, because the splitting of a large number
  // overflows.
  static double lost_in_product(double a, double b, double product) {
#ifdef FP_FAST_FMA
    double const lost = std::fma(a, b, -product);
#else
    auto const high = [](double x) {
      double const wide = 134217729.0 * x;  // 2^27 + 1
      return wide - (wide - x);
    };
    double const a_high = high(a);
    double const b_high = high(b);
    double const a_rest = a - a_high;
    double const b_rest = b - b_high;
    double const lost = ((a_high * b_high - product) + a_high * b_rest + a_rest * b_high) + a_rest * b_rest;
#endif
    return std::abs(lost) <= std::numeric_limits<double>::max() ? lost : 0.0;
  }

  std::size_t m_;
  std::size_t n_;
  bool side_by_side_;
  std::vector<double> value_;
  std::vector<double> low_;
  std::vector<double> scale_;
};

}  // namespace tessera::verify
