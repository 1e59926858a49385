#pragma once
/// \file
/// The wide accumulator of the references.

#include <cmath>
#include <type_traits>

namespace tessera::verify {

/// A sum of doubles in twice the precision of double: what is lost in each addition is kept beside it.
/// The error of n additions is about n * 2^-106 of the sum of magnitudes, far below any bound that is checked with it.
/// Source: Knuth, The Art of Computer Programming 2, 4.2.2 (two-sum); Neumaier (1974) for the compensation.
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

  /// The same of two numbers of a dtype. The product of two floats is a double: nothing of it can be lost.
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

  /// The sum rounded to double. Infinities and NaNs come out as IEEE addition makes them.
  [[nodiscard]] double value() const { return std::isfinite(sum_) ? sum_ + compensation_ : sum_; }

 private:
  double sum_ = 0;
  double compensation_ = 0;
};

}  // namespace tessera::verify
