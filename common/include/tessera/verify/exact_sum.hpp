#pragma once
/// \file
/// The wide accumulator of the references.

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace tessera::verify {

/// A sum of doubles in twice the precision of double: the rounding error of each addition is accumulated separately.
/// The error of n additions is about n * 2^-106 of the sum of magnitudes, far below every bound that is checked with
/// it. Source: Knuth, The Art of Computer Programming 2, 4.2.2 (two-sum); Neumaier (1974) for the compensation.
class ExactSum {
 public:
  void add(double value) {
    double const sum = sum_ + value;
    double const part = sum - sum_;
    compensation_ += (sum_ - (sum - part)) + (value - part);
    sum_ = sum;
  }

  /// Adds a * b without rounding the product.
  void add_product(double a, double b) {
    double const product = a * b;
    add(product);
    double const lost = std::fma(a, b, -product);
    if (std::isfinite(lost)) add(lost);
  }

  /// Adds the product of two numbers of a dtype. The product of two floats is exact in double.
  template <class T>
  void add_product_of(T a, T b) {
    if constexpr (std::is_same_v<T, float>) {
      add(static_cast<double>(a) * static_cast<double>(b));
    } else {
      add_product(static_cast<double>(a), static_cast<double>(b));
    }
  }

  /// Adds another sum.
  void merge(ExactSum const& other) {
    add(other.sum_);
    if (std::isfinite(other.compensation_)) add(other.compensation_);
  }

  /// Returns the sum rounded to double. Infinities and NaNs are the results of IEEE addition.
  [[nodiscard]] double value() const { return std::isfinite(sum_) ? sum_ + compensation_ : sum_; }

 private:
  double sum_ = 0;
  double compensation_ = 0;
};

/// Count sums of that kind, each with the bits of an ExactSum, side by side in memory: a loop over them can add to
/// several at a time.
template <std::size_t Count>
class ExactSums {
 public:
  void add(std::size_t i, double value) {
    double const sum = sums_[i] + value;
    double const part = sum - sums_[i];
    compensations_[i] += (sums_[i] - (sum - part)) + (value - part);
    sums_[i] = sum;
  }

  /// As ExactSum::add_product_of.
  template <class T>
  void add_product_of(std::size_t i, T a, T b) {
    double const product = static_cast<double>(a) * static_cast<double>(b);
    add(i, product);
    if constexpr (!std::is_same_v<T, float>) {
      double const lost = std::fma(static_cast<double>(a), static_cast<double>(b), -product);
      add(i, std::abs(lost) <= std::numeric_limits<double>::max() ? lost : 0.0);
    }
  }

  [[nodiscard]] double value(std::size_t i) const {
    return std::isfinite(sums_[i]) ? sums_[i] + compensations_[i] : sums_[i];
  }

 private:
  std::array<double, Count> sums_{};
  std::array<double, Count> compensations_{};
};

}  // namespace tessera::verify
