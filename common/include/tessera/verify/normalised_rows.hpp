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
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <tessera/core/types.hpp>

namespace tessera::verify {

class NormalisedRowOracle {
 public:
  /// \param longest the longest chain of roundings of any variant
  /// \param dtype a value of the type that rows are summed in
  template <class T>
  NormalisedRowOracle(std::size_t cols, double eps, double longest, T /*dtype*/)
      : xhat(cols),
        scale(cols),
        eps_(static_cast<double>(static_cast<T>(eps))),
        unit_(unit_roundoff(dtype_of<T>)),
        growth_(std::expm1(longest * unit_)),
        denormal_(static_cast<double>(std::numeric_limits<T>::denorm_min())),
        smallest_(static_cast<double>(std::numeric_limits<T>::min())),
        largest_(static_cast<double>(std::numeric_limits<T>::max())),
        error_(cols) {}

  std::vector<long double> xhat;
  std::vector<double> scale;  ///< X of each xhat
  long double inv_std = 0;
  double inv_std_scale = 0;  ///< absolute, of 1 / sqrt(w)
  bool known = true;         ///< false: results that depend on the row are not checked

  /// True if the sign of xhat is known: an infinite factor then gives the same infinity in every variant.
  [[nodiscard]] bool sign_is_known(std::size_t h) const {
    return std::isnan(xhat[h]) || std::abs(static_cast<double>(xhat[h])) > growth_ * scale[h] ||
           (xhat[h] == 0 && xhat.size() == 1);
  }

  /// Processes the row x[0 .. cols - 1].
  template <class T>
  void take(T const* x) {
    std::size_t const cols = xhat.size();
    auto const count = static_cast<long double>(cols);
    auto const first = static_cast<long double>(x[0]);
    long double sum = 0;
    double magnitudes = 0;
    bool finite = true;
    for (std::size_t h = 0; h < cols; ++h) {
      long double const d = static_cast<long double>(x[h]) - first;
      sum += d;
      magnitudes += std::abs(static_cast<double>(d));
      finite = finite && std::isfinite(static_cast<double>(x[h]));
    }
    long double const mean = sum / count;
    double const mean_magnitude = magnitudes / static_cast<double>(cols);
    long double squares = 0;
    long double error_squares = 0;
    double widest = 0;
    for (std::size_t h = 0; h < cols; ++h) {
      long double const d = static_cast<long double>(x[h]) - first;
      long double const e = d - mean;
      xhat[h] = e;
      squares += e * e;
      error_[h] = std::abs(static_cast<double>(d)) + mean_magnitude + std::abs(static_cast<double>(e));
      if (error_[h] > 0) error_[h] += 2 * denormal_ / unit_;
      error_squares += static_cast<long double>(error_[h]) * error_[h];
      widest = std::max(widest, error_[h]);
    }
    // In long double, because squares may exceed the range of double.
    long double const v = squares / count;
    long double const m = error_squares / count;
    long double const w = v + eps_;
    inv_std = 1 / std::sqrt(w);
    auto const of_w = static_cast<double>((2 * std::sqrt(v * m) + growth_ * m + v + 2 * denormal_ / unit_) / w + 1);
    double const of_root = 0.6 * of_w + 3;
    auto const root = static_cast<double>(inv_std);
    inv_std_scale = root * of_root;
    known = !finite || (growth_ * of_w <= 0.1 && 2 * widest <= largest_ && root >= smallest_);
    for (std::size_t h = 0; h < cols; ++h) {
      xhat[h] *= inv_std;
      scale[h] = finite ? error_[h] * root + std::abs(static_cast<double>(xhat[h])) * of_root : 0.0;
      if (scale[h] > 0) scale[h] += denormal_ / unit_;
    }
  }

 private:
  double eps_;
  double unit_;
  double growth_;
  double denormal_;
  double smallest_;
  double largest_;
  std::vector<double> error_;
};

}  // namespace tessera::verify
