#pragma once
/// \file
/// The serial reference of layer normalisation: xhat = (x - mean) / sqrt(variance + eps) of one row in long double, in
/// two sweeps, and a bound of the error of a variant.
///
/// Error bound. u is the unit roundoff, g = (1 + u)^s - 1, and s the variant's longest chain of roundings for an xhat:
/// the additions of a row's sum and 8 more. A variant computes the distances d = x - x[0] (error u |d|: exact if x is
/// near x[0]), their mean m (sum, conversion of the count, division: g mean|d|), and the deviation e = d - m, so that
///
///     |error of e| <= g E,  E = |d| + mean|d| + |e|.
///
/// Let v = mean e^2 and M = mean E^2. By the Cauchy-Schwarz inequality the error of the sum of squares over the count
/// is at most g (2 sqrt(v M) + g M + v). Let G be the g of the longest chain of any variant. So w = v + eps has the
/// relative error g H, H = (2 sqrt(v M) + G M + v) / w + 1. If G H <= 1/10, 1 / sqrt(w) has the relative error g P, P =
/// 0.6 H + 3 (its root, its division, the product with e). Therefore
///
///     |error of xhat| <= g X,  X = E / sqrt(w) + |xhat| P,
///
/// for any ratio of the mean to the deviations. Results below the normal range lose a denormal per step; this is added
/// to E and v, in units of u. A row is unknown if G H > 1/10, if a distance may exceed the range of the dtype, or if 1
/// / sqrt(w) is below its normal range. If only sums or squares of distances exceed the range, a variant scales them by
/// a power of two (collective/in_range.hpp), which rounds nothing. (N. Higham, Accuracy and Stability of Numerical
/// Algorithms, 2nd ed., 1.9, 3.1.)

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <tessera/core/half.hpp>
#include <tessera/core/types.hpp>
#include <tessera/verify/grid.hpp>

namespace tessera::verify {

template <class T>
class NormalisedRowOracle {
 public:
  using A = Arithmetic<T>;  ///< in which rows are summed

  /// \param longest the longest chain of roundings of any variant
  NormalisedRowOracle(std::size_t cols, double eps, double longest)
      : eps_(static_cast<double>(static_cast<A>(eps))),
        growth_(std::expm1(longest * unit_)),
        error_(cols),
        distances_(cols) {}

  long double inv_std = 0;
  double inv_std_scale = 0;  ///< absolute, of 1 / sqrt(w)
  bool known = true;         ///< false: results that depend on the row are not checked

  [[nodiscard]] long double xhat(std::size_t h) const { return (distance(h) - mean_) * inv_std; }

  /// X of an element, whose xhat, rounded, the caller has.
  [[nodiscard]] double scale(std::size_t h, double xhat) const {
    double const scale = finite_ ? error_[h] * root_ + std::abs(xhat) * of_root_ : 0.0;
    return scale > 0 ? scale + denormal_ / unit_ : scale;
  }

  /// True if the sign of xhat is known: then an infinite factor makes the same infinity of it in every variant.
  [[nodiscard]] bool sign_is_known(std::size_t h, double xhat) const {
    return std::isnan(xhat) || std::abs(xhat) > growth_ * scale(h, xhat) || (xhat == 0 && error_.size() == 1);
  }

  /// Takes the row x[0 .. cols - 1], which must stay as long as it is asked for.
  void take(T const* x) {
    std::size_t const cols = error_.size();
    auto const count = static_cast<long double>(cols);
    x_ = x;
    first_ = static_cast<long double>(x[0]);
    double magnitudes = 0;
    mean_ = sum_of_distances(magnitudes) / count;
    double const mean_magnitude = magnitudes / static_cast<double>(cols);
    long double squares = 0;
    long double error_squares = 0;
    double widest = 0;
    auto const add = [&](std::size_t h, auto d) {
      long double const e = d - mean_;
      squares += e * e;
      double error = std::abs(static_cast<double>(d)) + mean_magnitude + std::abs(static_cast<double>(e));
      if (error > 0) error += 2 * denormal_ / unit_;
      error_[h] = error;
      error_squares += static_cast<long double>(error) * error;
      widest = std::max(widest, error);
    };
    if (are_doubles_) {
      for (std::size_t h = 0; h < cols; ++h) add(h, distances_[h]);
    } else {
      for (std::size_t h = 0; h < cols; ++h) add(h, distance(h));
    }
    // In long double, because squares may exceed the range of double.
    long double const v = squares / count;
    long double const m = error_squares / count;
    long double const w = v + eps_;
    inv_std = 1 / std::sqrt(w);
    auto const of_w = static_cast<double>((2 * std::sqrt(v * m) + growth_ * m + v + 2 * denormal_ / unit_) / w + 1);
    of_root_ = 0.6 * of_w + 3;
    root_ = static_cast<double>(inv_std);
    inv_std_scale = root_ * of_root_;
    known = !finite_ || (growth_ * of_w <= 0.1 && 2 * widest <= largest_ && root_ >= smallest_);
  }

 private:
  static constexpr double unit_ = unit_roundoff(dtype_of<A>);
  static constexpr double denormal_ = static_cast<double>(std::numeric_limits<A>::denorm_min());
  static constexpr double smallest_ = static_cast<double>(std::numeric_limits<A>::min());
  static constexpr double largest_ = static_cast<double>(std::numeric_limits<A>::max());

  [[nodiscard]] long double distance(std::size_t h) const {
    return are_doubles_ ? static_cast<long double>(distances_[h]) : static_cast<long double>(x_[h]) - first_;
  }

  // Of x[h] - x[0], and the sum of their magnitudes.
  [[nodiscard]] long double sum_of_distances(double& magnitudes) {
    std::size_t const cols = error_.size();
    std::uint64_t largest = 0;  // magnitude, by its bits, which are in the same order
    for (std::size_t h = 0; h < cols; ++h) {
      largest = std::max(largest, std::bit_cast<std::uint64_t>(std::abs(static_cast<double>(x_[h]))));
    }
    auto const most = std::bit_cast<double>(largest);
    finite_ = std::isfinite(most);
    // In most data no sum of distances needs more bits than a double has: then any order has the same one.
    are_doubles_ = grid_of(x_, cols).template holds<double>(4 * most * static_cast<double>(cols));
    if (are_doubles_) {
      std::array<double, 16> sums{};
      std::array<double, 16> sums_of_magnitudes{};
      auto const first = static_cast<double>(x_[0]);
      for (std::size_t h = 0; h < cols; ++h) distances_[h] = static_cast<double>(x_[h]) - first;
      auto const add = [&](std::size_t i, double d) {
        sums[i] += d;
        sums_of_magnitudes[i] += std::abs(d);
      };
      std::size_t const whole = cols / sums.size() * sums.size();
      for (std::size_t h = 0; h < whole; h += sums.size()) {
        for (std::size_t i = 0; i < sums.size(); ++i) add(i, distances_[h + i]);
      }
      for (std::size_t h = whole; h < cols; ++h) add(0, distances_[h]);
      magnitudes = std::accumulate(sums_of_magnitudes.begin(), sums_of_magnitudes.end(), 0.0);
      return std::accumulate(sums.begin(), sums.end(), 0.0);
    }
    long double sum = 0;
    for (std::size_t h = 0; h < cols; ++h) {
      long double const d = distance(h);
      sum += d;
      magnitudes += std::abs(static_cast<double>(d));
    }
    return sum;
  }

  double eps_;
  double growth_;
  T const* x_ = nullptr;
  long double first_ = 0;
  long double mean_ = 0;
  bool finite_ = true;
  double root_ = 0;
  double of_root_ = 0;
  std::vector<double> error_;
  std::vector<double> distances_;  // from the first element, if they are doubles
  bool are_doubles_ = false;
};

}  // namespace tessera::verify
