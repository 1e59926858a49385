/// \file
/// The serial oracle of attention: the scores of some queries at a time, their softmax, and the weighted sum of the
/// values, in double for float and in long double for double.
///
/// Error bound. With s_j = scale * sum_c q_c k_jc, M = max s_j, p_j = e^(s_j - M) / sum e^(s_i - M), a variant's
/// weights carry relative errors e_j, whatever the order of its operations:
///   - s_j has the error of a dot product and of a factor, (d + 1) u |scale| sum_c |q_c k_jc| (Higham, Accuracy and
///     Stability of Numerical Algorithms, 3.1), which the exponential makes relative;
///   - s_j minus a maximum is rounded: |s_j - M| u. A variant that goes through several maxima multiplies exponentials of
///     their differences, and since maxima only rise, their arguments sum up to M - s_j;
///   - the exponential itself: 4 u.
/// A weighted mean moves by at most sum_j p_j e'_j (|v_jc| + |out_c|) / (1 - E), e'_j = e^(e_j) - 1, E = sum_j p_j
/// e'_j, and never out of the range of the values. That is the offset. The chain of additions and of rescalings, in the
/// sum of weights and in that of weighted values, is the variant's: its scale is sum_j p_j |v_jc| + |out_c|. Weights
/// below the normal range lose at most a smallest denormal each.
///
/// Exact sums. A query's scores are exact if their products lie on a grid and sums of their magnitudes within the dtype's
/// precision of it, and scale is a power of two: then neither the scores nor their differences add to e_j, and the
/// exponential of a difference of 0 is 1. If besides m keys have the largest score, m a power of two, the weights of all
/// others sum up to so little that a single 1, and with it the smallest sum of values (which are positive, on a grid of
/// their own), absorbs them and their errors, then both sums are exact in any order, with or without the division by m
/// first: the scale is 0, and the offset 2 u |out_c|.
///
/// What nobody can know is not asked: where a product may overflow; where a value that is no number meets a weight so
/// small that it is 0 in one order and not in another.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/verify/grid.hpp>

namespace tessera::attention {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, long double, double>;

// The scores of one query with their errors, and what becomes of them.
template <class T>
struct Weights {
  std::vector<Wide<T>> score;      // then the weight
  std::vector<Wide<T>> magnitude;  // of the products, then e' of the weight
  bool may_overflow = false;
  bool exact = false;  // scores and their differences
  double ones = 0;     // keys with the largest score
  double rest = 0;     // sum of the others' exponentials
};

template <class T>
class Oracle {
 public:
  using W = Wide<T>;

  Oracle(T const* k, T const* v, std::size_t n, std::size_t d, double scale)
      : v_(v),
        n_(n),
        d_(d),
        scale_(scale),
        turned_(n * d),
        lowest_(d, infinity),
        highest_(d, -infinity),
        k_grid_(verify::grid_of(k, n * d)),
        v_grid_(verify::grid_of(v, n * d)) {
    // Some keys at a time, so that a cache line of a column is written once.
    constexpr std::size_t keys = 16;
    for_blocks(n, keys * 64, [&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t first = begin; first < end; first += keys) {
        for (std::size_t c = 0; c < d; ++c) {
          for (std::size_t j = first; j < std::min(end, first + keys); ++j) turned_[c * n + j] = k[j * d + c];
        }
      }
    });
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t c = 0; c < d; ++c) {
        lowest_[c] = std::min(lowest_[c], static_cast<double>(v[j * d + c]));
        highest_[c] = std::max(highest_[c], static_cast<double>(v[j * d + c]));
      }
    }
    if (n * d > 0) {
      lowest_value_ = *std::min_element(lowest_.begin(), lowest_.end());
      highest_value_ = *std::max_element(highest_.begin(), highest_.end());
    }
  }

  // Queries have nothing to do with each other: each is a serial loop, several run side by side.
  void answer(T const* q, std::size_t queries, ExpectedField& out) const {
    for_blocks(queries, 1, [&](std::size_t b, std::size_t, std::size_t) {
      answer(q + b * d_, &out.value[b * d_], &out.scale[b * d_], &out.offset[b * d_]);
    });
  }

 private:
  // One query: its row of the result, with bounds.
  void answer(T const* q, double* value, double* bound_scale, double* offset) const {
    Weights<T> weights;
    weigh(q, weights);
    std::vector<W> sum(d_);
    std::vector<W> magnitude(d_);
    std::vector<W> uncertain(d_);
    std::vector<bool> unknown(d_, weights.may_overflow);
    W error = 0;  // E
    for (std::size_t j = 0; j < n_; ++j) {
      W const p = weights.score[j];
      W const pe = p * weights.magnitude[j];
      error += pe;
      T const* const row = v_ + j * d_;
      for (std::size_t c = 0; c < d_; ++c) {
        W const x = row[c];
        W const size = x < 0 ? -x : x;
        sum[c] += p * x;
        magnitude[c] += p * size;
        uncertain[c] += pe * size;
      }
      if (p > 0 && p < W(1e-30)) {
        for (std::size_t c = 0; c < d_; ++c) {
          if (!std::isfinite(static_cast<double>(row[c]))) unknown[c] = true;
        }
      }
    }
    double const denormals = static_cast<double>(n_) * static_cast<double>(std::numeric_limits<T>::denorm_min());
    for (std::size_t c = 0; c < d_; ++c) {
      value[c] = static_cast<double>(sum[c]);
      bound_scale[c] = static_cast<double>(magnitude[c]) + std::abs(value[c]);
      double const range = highest_[c] - lowest_[c];
      double const moved =
          error < W(0.5) ? static_cast<double>((uncertain[c] + std::abs(sum[c]) * error) / (1 - error)) : infinity;
      offset[c] = std::min(moved, range) + denormals * std::max(std::abs(highest_[c]), std::abs(lowest_[c]));
      if (sums_are_exact(weights)) {
        bound_scale[c] = 0;
        offset[c] += 2 * unit_roundoff(dtype_of<T>) * std::abs(value[c]);
      }
      if (!std::isfinite(value[c])) bound_scale[c] = offset[c] = 0;  // NaN or infinity, exactly
      if (unknown[c]) bound_scale[c] = infinity;
    }
  }

  [[nodiscard]] bool sums_are_exact(Weights<T> const& weights) const {
    double const unit = unit_roundoff(dtype_of<T>);
    bool const power_of_two = weights.ones > 0 && std::exp2(std::round(std::log2(weights.ones))) == weights.ones;
    return weights.exact && power_of_two && weights.ones * unit <= 1 && lowest_value_ > 0 &&
           v_grid_.holds<T>(weights.ones * highest_value_) && weights.rest <= 0x1p-24 * unit &&
           weights.rest * highest_value_ <= 0x1p-24 * unit * v_grid_.spacing();
  }

  void weigh(T const* q, Weights<T>& weights) const {
    W const u = static_cast<W>(unit_roundoff(dtype_of<T>));
    weights.score.resize(n_);
    weights.magnitude.resize(n_);
    W* const score = weights.score.data();
    W* const magnitude = weights.magnitude.data();
    constexpr W most = static_cast<W>(std::numeric_limits<T>::max());
    W const size = std::abs(static_cast<W>(scale_));
    weights.may_overflow = false;
    for (std::size_t c = 0; c < d_; ++c) {
      W const factor = q[c];
      if (std::isfinite(factor) && std::abs(factor) * size > most) weights.may_overflow = true;
      T const* const column = &turned_[c * n_];
      for (std::size_t j = 0; j < n_; ++j) {
        W const product = factor * column[j];
        score[j] += product;
        magnitude[j] += product < 0 ? -product : product;
      }
    }
    W largest = -std::numeric_limits<W>::infinity();
    for (std::size_t j = 0; j < n_; ++j) {
      if (std::isfinite(magnitude[j]) && magnitude[j] * std::max(size, W(1)) > most) weights.may_overflow = true;
      score[j] *= static_cast<W>(scale_);
      if (std::isnan(score[j]) || score[j] > largest) largest = score[j];
      if (std::isnan(largest)) break;
    }
    W widest = 0;
    for (std::size_t j = 0; j < n_; ++j) widest = std::max(widest, magnitude[j]);
    verify::Grid factor;
    factor.add(scale_);
    int exponent = 0;
    weights.exact =
        std::abs(std::frexp(scale_, &exponent)) == 0.5 &&
        verify::grid_of(q, d_).times(k_grid_).times(factor).template holds<T>(static_cast<double>(2 * widest * size));
    weights.ones = weights.rest = 0;
    W total = 0;
    for (std::size_t j = 0; j < n_; ++j) {
      W const below = score[j] - largest;  // NaN where all are -infinity, or one is +infinity
      score[j] = std::exp(below);
      total += score[j];
      if (below == 0) {
        ++weights.ones;
      } else {
        weights.rest += static_cast<double>(score[j]);
      }
      W error = (static_cast<W>(d_ + 1) * size * magnitude[j] + std::abs(below) + 4) * u;
      if (weights.exact) error = below == 0 ? W(0) : 4 * u;
      // Of a weight that is 0 nothing can be lost but what the denormals allow.
      magnitude[j] = score[j] == 0 ? W(0) : std::expm1(std::min(error, W(700)));
    }
    for (std::size_t j = 0; j < n_; ++j) score[j] /= total;
  }

  T const* v_;
  std::size_t n_;
  std::size_t d_;
  double scale_;
  std::vector<T> turned_;  // k, transposed: the compiler makes vectors of neighbouring keys
  std::vector<double> lowest_;
  std::vector<double> highest_;
  verify::Grid k_grid_;
  verify::Grid v_grid_;
  double lowest_value_ = 0;
  double highest_value_ = 0;
};

}  // namespace

template <class T>
std::vector<ExpectedField> Attention::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const queries = input.q.extent(0);
  std::size_t const d = input.q.extent(1);
  std::size_t const n = input.k.extent(0);
  ExpectedField out{.name = "out",
                    .shape = {queries, d},
                    .value = std::vector<double>(queries * d),
                    .scale = std::vector<double>(queries * d),
                    .offset = std::vector<double>(queries * d),
                    .each_sees_all = true};
  if (n > 0 && d > 0) {
    Oracle<T>(input.k.data(), input.v.data(), n, d, input.parameters.scale).answer(input.q.data(), queries, out);
  }
  return list_of(std::move(out));
}

template std::vector<ExpectedField> Attention::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Attention::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Attention::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::attention
