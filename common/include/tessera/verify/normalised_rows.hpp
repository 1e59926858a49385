#pragma once
/// \file
/// The serial reference of layer normalisation: xhat = (x - mean) / sqrt(variance + eps) of one row in two sweeps, and
/// a bound of the error of a variant. Doubles are computed in long double, all others in double. The error of a sum of
/// n terms in double is less than 2^-28 of the bound g below, which has n roundings of at least 2^-24.
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
#include <type_traits>
#include <vector>

#include <tessera/core/half.hpp>
#include <tessera/core/types.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/plain_sums.hpp>

namespace tessera::verify {

template <class T>
class NormalisedRowOracle {
 public:
  using A = Arithmetic<T>;                                                          ///< in which rows are summed
  using Wide = std::conditional_t<std::is_same_v<T, double>, long double, double>;  ///< of the reference

  /// \param longest the longest chain of roundings of any variant
  NormalisedRowOracle(std::size_t cols, double eps, double longest)
      : eps_(static_cast<double>(static_cast<A>(eps))),
        growth_(std::expm1(longest * unit_)),
        error_(cols),
        distances_(cols) {}

  Wide inv_std = 0;
  double inv_std_scale = 0;  ///< absolute, of 1 / sqrt(w)
  bool known = true;         ///< false: results that depend on the row are not checked

  [[nodiscard]] Wide xhat(std::size_t h) const { return (distances_[h] - mean_) * inv_std; }

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
    auto const count = static_cast<Wide>(cols);
    x_ = x;
    double magnitudes = 0;
    mean_ = sum_of_distances(magnitudes) / count;
    double const mean_magnitude = magnitudes / static_cast<double>(cols);
    // Several sums, so that elements do not wait for each other. Wide, because squares may exceed the range of T.
    std::array<Wide, sum_lanes> squares{};
    std::array<Wide, sum_lanes> error_squares{};
    std::array<double, sum_lanes> widest{};
    add_in_lanes(cols, [&](std::size_t lane, std::size_t h) {
      Wide const d = distances_[h];
      Wide const e = d - mean_;
      squares[lane] += e * e;
      double error = std::abs(static_cast<double>(d)) + mean_magnitude + std::abs(static_cast<double>(e));
      error += error > 0 ? 2 * denormal_ / unit_ : 0;
      error_[h] = error;
      error_squares[lane] += static_cast<Wide>(error) * error;
      widest[lane] = std::max(widest[lane], error);
    });
    Wide const v = std::accumulate(squares.begin(), squares.end(), Wide(0)) / count;
    Wide const m = std::accumulate(error_squares.begin(), error_squares.end(), Wide(0)) / count;
    Wide const w = v + static_cast<Wide>(eps_);
    inv_std = 1 / std::sqrt(w);
    auto const of_w = static_cast<double>((2 * std::sqrt(v * m) + growth_ * m + v + 2 * denormal_ / unit_) / w + 1);
    of_root_ = 0.6 * of_w + 3;
    root_ = static_cast<double>(inv_std);
    inv_std_scale = root_ * of_root_;
    known =
        !finite_ || (growth_ * of_w <= 0.1 && 2 * *std::ranges::max_element(widest) <= largest_ && root_ >= smallest_);
  }

 private:
  static constexpr double unit_ = unit_roundoff(dtype_of<A>);
  static constexpr double denormal_ = static_cast<double>(std::numeric_limits<A>::denorm_min());
  static constexpr double smallest_ = static_cast<double>(std::numeric_limits<A>::min());
  static constexpr double largest_ = static_cast<double>(std::numeric_limits<A>::max());

  // Of x[h] - x[0], and the sum of their magnitudes.
  [[nodiscard]] Wide sum_of_distances(double& magnitudes) {
    std::size_t const cols = error_.size();
    std::uint64_t largest = 0;  // magnitude, by its bits, which are in the same order
    for (std::size_t h = 0; h < cols; ++h) {
      largest = std::max(largest, std::bit_cast<std::uint64_t>(std::abs(static_cast<double>(x_[h]))));
    }
    auto const most = std::bit_cast<double>(largest);
    finite_ = std::isfinite(most);
    auto const first = static_cast<Wide>(x_[0]);
    for (std::size_t h = 0; h < cols; ++h) distances_[h] = static_cast<Wide>(x_[h]) - first;
    // In most data no sum of distances needs more bits than a double has: then any order has the same one.
    if (grid_of(x_, cols).template holds<double>(4 * most * static_cast<double>(cols))) {
      auto const [sum, sum_of_magnitudes] = plain_sums(distances_.data(), cols);
      magnitudes = sum_of_magnitudes;
      return sum;
    }
    Wide sum = 0;
    for (Wide const d : distances_) {
      sum += d;
      magnitudes += std::abs(static_cast<double>(d));
    }
    return sum;
  }

  double eps_;
  double growth_;
  T const* x_ = nullptr;
  Wide mean_ = 0;
  bool finite_ = true;
  double root_ = 0;
  double of_root_ = 0;
  std::vector<double> error_;
  std::vector<Wide> distances_;  // from the first element
};

}  // namespace tessera::verify
