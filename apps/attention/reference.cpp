/// \file
/// The serial oracle of attention: the scores of some queries at a time, their softmax, and the weighted sum of the
/// values, in double for float and in long double for double.
///
/// Error bound. With s_j = scale * sum_c q_c k_jc, M = max s_j, p_j = e^(s_j - M) / sum e^(s_i - M), a variant's
/// weights have relative errors e_j, in any order of operations:
///   - s_j has the error of a dot product and of a factor, (d + 1) u |scale| sum_c |q_c k_jc| (Higham, Accuracy and
///     Stability of Numerical Algorithms, 3.1), which the exponential makes relative;
///   - s_j minus a maximum is rounded: |s_j - M| u. A variant that goes through several maxima multiplies exponentials
///     of their differences; maxima only rise, so the arguments add up to M - s_j;
///   - the exponential itself: 4 u.
/// A weighted mean moves by at most sum_j p_j e'_j (|v_jc| + |out_c|) / (1 - E), with e'_j = e^(e_j) - 1 and E = sum_j
/// p_j e'_j, and it stays in the range of the values. This is the offset. The chain of additions and rescalings in the
/// sum of weights and in the sum of weighted values depends on the variant; its scale is sum_j p_j |v_jc| + |out_c|.
/// Weights below the normal range lose at most one smallest denormal each.
///
/// Exact sums. A query's scores are exact if scale is a power of two and the products lie on a grid on which the dtype
/// holds the sums of their magnitudes. Then neither the scores nor their differences add to e_j, and the exponential of
/// a difference of 0 is 1. Both sums are exact in any order, with or without a division by m first, if also
///   - m keys have the largest score, with m a power of two;
///   - the other keys' weights are so small in total that rounding absorbs them and their errors when they are added to
///     a single 1, and to the smallest sum of values (the values are positive and lie on their own grid);
///   - the dtype holds the sum of the values of the m keys. It is m times the result, and the double that is computed
///     for it is off by less than n roundings.
/// The scale is then 0, and the offset 2 u |out_c|.
///
/// Factors of bfloat16 (float only). A variant that rounds q, k, v and its weights to bfloat16 (to nearest, 8
/// significant bits) makes a relative error of b = 2^-8 in each of them: b_q, b_k and b_v, which are 0 for inputs of at
/// most 8 bits. Then
///   - s_j is off by a_j = ((1 + b_q) (1 + b_k) (1 + 40 u ceil(d / 16)) - 1) |scale| sum_c |q_c k_jc|, including the
///     truncation in a matrix unit; and by 4 u (|s_j - M| + max_i |scale| sum_c |q_c k_ic| + 3), if the exponent is one
///     multiply-add of the score, weights are relative to a score up to ln 2 below M, and the exponential is off by 4
///     u;
///   - the weight is rounded: e'_j = (1 + b) e^(a_j) - 1, and the same weights are summed and multiplied by the values.
///     The mean moves by sum_j p_j e_j (v_j - out) / (1 + sum_j p_j e_j), which is at most sqrt(sum_j p_j e'_j^2)
///     sqrt(sum_j p_j v_j^2 - out^2) / (1 - E) (Cauchy and Schwarz). This form does not grow with the mean of the
///     values. The mean stays in the values' range;
///   - the values are rounded: b_v times the mean of |v|, with the weights unchanged.
/// Weights below the normal range may become 0. For large scores the bound is the range of the values and detects
/// little; these rows are weak. Queries with exact sums stay exact if q, k and v have at most 8 bits: a weight of 1 is
/// exactly 1, even if the exponent is off by the rounding of a largest score of up to 2^12.
///
/// An element is not checked if its result depends on the order of operations: if a product or a rounded mean may
/// overflow, or if a value that is infinite or NaN meets a weight so small that it is 0 in some orders only.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/grid.hpp>

namespace tessera::attention {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, long double, double>;

// The scores of one query with their errors; later its weights.
template <class T>
struct Weights {
  std::vector<Wide<T>> score;      // later the weight, times the total
  std::vector<Wide<T>> magnitude;  // of the products; later e' of the weight
  bool may_overflow = false;
  Wide<T> total = 0;
  bool exact = false;  // scores and their differences are exact
  double ones = 0;     // number of keys with the largest score
  double rest = 0;     // sum of the other keys' exponentials
  // With factors of bfloat16:
  bool bfloat16_exact = false;  // q and the largest score allow exact sums
  double bfloat16_error = 0;    // mean of e'
  double bfloat16_square = 0;   // mean of e'^2
};

constexpr double bfloat16_unit = 0x1p-8;
constexpr int bfloat16_bits = 8;

template <class T>
class Oracle {
 public:
  using W = Wide<T>;
  static constexpr bool has_bfloat16 = std::is_same_v<T, float>;

  Oracle(T const* k, T const* v, std::size_t n, std::size_t d, double scale)
      : v_(v),
        n_(n),
        d_(d),
        of_block_(std::max<std::size_t>(1024, blocks_in(n, 256))),
        scale_(scale),
        growth_(std::min(1.0, std::expm1(Attention::rounding_steps({{}, {n, d}}, {}) * unit_roundoff(dtype_of<T>)))),
        turned_(n * d),
        lowest_(d, infinity),
        highest_(d, -infinity),
        k_grid_(verify::grid_of(k, n * d)),
        v_grid_(verify::grid_of(v, n * d)),
        k_has_bfloat16s_(has_bfloat16 && verify::fit_into_bits(k, n * d, bfloat16_bits)),
        v_has_bfloat16s_(has_bfloat16 && verify::fit_into_bits(v, n * d, bfloat16_bits)) {
    std::vector<std::vector<double>> lowest(blocks_in(n, of_block_), lowest_);
    std::vector<std::vector<double>> highest(blocks_in(n, of_block_), highest_);
    // Some keys at a time, so that a cache line of a column is written once.
    constexpr std::size_t keys = 16;
    for_blocks(n, of_block_, [&](std::size_t block, std::size_t begin, std::size_t end) {
      for (std::size_t first = begin; first < end; first += keys) {
        for (std::size_t c = 0; c < d; ++c) {
          for (std::size_t j = first; j < std::min(end, first + keys); ++j) turned_[c * n + j] = k[j * d + c];
        }
      }
      for (std::size_t j = begin; j < end; ++j) {
        for (std::size_t c = 0; c < d; ++c) {
          lowest[block][c] = std::min(lowest[block][c], static_cast<double>(v[j * d + c]));
          highest[block][c] = std::max(highest[block][c], static_cast<double>(v[j * d + c]));
        }
      }
    });
    for (std::size_t block = 0; block < lowest.size(); ++block) {
      for (std::size_t c = 0; c < d; ++c) {
        lowest_[c] = std::min(lowest_[c], lowest[block][c]);
        highest_[c] = std::max(highest_[c], highest[block][c]);
      }
    }
    if (n * d > 0) {
      lowest_value_ = *std::min_element(lowest_.begin(), lowest_.end());
      highest_value_ = *std::max_element(highest_.begin(), highest_.end());
    }
  }

  // Queries are independent, and several run in parallel. So do blocks of their keys if there are few queries.
  void answer(T const* q, std::size_t queries, ExpectedField& out) const {
    for_blocks(queries, 1, [&](std::size_t b, std::size_t, std::size_t) { answer_one(q + b * d_, b * d_, out); });
  }

 private:
  // A query's sums over some keys.
  struct Sums {
    Sums(std::size_t d, bool may_overflow)
        : sum(d), magnitude(d), uncertain(d), square(has_bfloat16 ? d : 0), unknown(d, may_overflow) {}

    // Adds the key j with its value `row`.
    void add(Weights<T> const& weights, std::size_t j, T const* row) {
      W const p = weights.score[j] / weights.total;
      W const pe = p * weights.magnitude[j];
      error += pe;
      for (std::size_t c = 0; c < sum.size(); ++c) {
        W const x = row[c];
        W const size = x < 0 ? -x : x;
        sum[c] += p * x;
        magnitude[c] += p * size;
        uncertain[c] += pe * size;
        if constexpr (has_bfloat16) square[c] += p * (x * x);
      }
      if (p > 0 && p < W(1e-30)) {
        for (std::size_t c = 0; c < sum.size(); ++c) {
          if (!std::isfinite(static_cast<double>(row[c]))) unknown[c] = true;
        }
      }
    }
    void merge(Sums const& other) {
      for (std::size_t c = 0; c < sum.size(); ++c) {
        sum[c] += other.sum[c];
        magnitude[c] += other.magnitude[c];
        uncertain[c] += other.uncertain[c];
        if constexpr (has_bfloat16) square[c] += other.square[c];
        if (other.unknown[c]) unknown[c] = true;
      }
      error += other.error;
    }

    std::vector<W> sum;
    std::vector<W> magnitude;
    std::vector<W> uncertain;
    std::vector<W> square;
    std::vector<bool> unknown;
    W error = 0;  // E
  };

  // Computes the row of the result for one query, with bounds. `first`: the row's first element.
  void answer_one(T const* q, std::size_t first, ExpectedField& out) const {
    Weights<T> const weights = weigh(q);
    std::vector<Sums> of_blocks(blocks_in(n_, of_block_), Sums(d_, weights.may_overflow));
    for_blocks(n_, of_block_, [&](std::size_t block, std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j) of_blocks[block].add(weights, j, v_ + j * d_);
    });
    Sums all(d_, weights.may_overflow);
    for (Sums const& of_block : of_blocks) all.merge(of_block);
    auto const& [sum, magnitude, uncertain, square, unknown, error] = all;
    double const denormals = static_cast<double>(n_) * static_cast<double>(std::numeric_limits<T>::denorm_min());
    for (std::size_t c = 0; c < d_; ++c) {
      auto const value = static_cast<double>(sum[c]);
      out.value[first + c] = value;
      double& scale = out.scale[first + c];
      double& offset = out.offset[first + c];
      scale = static_cast<double>(magnitude[c]) + std::abs(value);
      double const range = highest_[c] - lowest_[c];
      double const moved =
          error < W(0.5) ? static_cast<double>((uncertain[c] + std::abs(sum[c]) * error) / (1 - error)) : infinity;
      offset = std::min(moved, range) + denormals * std::max(std::abs(highest_[c]), std::abs(lowest_[c]));
      if (sums_are_exact(weights, value)) {
        scale = 0;
        offset += 2 * unit_roundoff(dtype_of<T>) * std::abs(value);
      }
      // Near the end of the range the mean may overflow, because rounded weights may add up to slightly more than 1.
      auto const most = static_cast<double>(std::numeric_limits<T>::max());
      bool const may_overflow = !(static_cast<double>(magnitude[c]) * (1 + growth_) + offset <= most);
      bool const is_unknown = unknown[c] || (std::isfinite(value) && may_overflow);
      if (!std::isfinite(value)) scale = offset = 0;  // NaN or infinity, exactly
      if (is_unknown) scale = infinity;
      if constexpr (has_bfloat16) {
        out.bfloat16_scale[first + c] = scale;
        out.bfloat16_offset[first + c] = offset;
        bool const exact = v_has_bfloat16s_ && weights.bfloat16_exact && sums_are_exact(weights, value);
        if (!exact && std::isfinite(value) && !is_unknown) {
          bound_bfloat16(weights, c, static_cast<double>(magnitude[c]), static_cast<double>(square[c]), first + c, out);
        }
      }
    }
  }

  // Sets an element's bounds for factors rounded to bfloat16. `magnitude` and `square` are its sums of p |v| and p v^2.
  void bound_bfloat16(Weights<T> const& weights, std::size_t c, double magnitude, double square, std::size_t i,
                      ExpectedField& out) const {
    double const value = out.value[i];
    double const range = highest_[c] - lowest_[c];
    double const largest = std::max(std::abs(highest_[c]), std::abs(lowest_[c]));
    double const error = weights.bfloat16_error;
    bool const is_small = error < 0.5;
    double const moving = is_small ? std::sqrt(weights.bfloat16_square) / (1 - error) : 0;
    // The difference includes the rounding errors of both terms.
    double const spread = std::max(0.0, square - value * value) + 2 * static_cast<double>(n_ + 8) * 0x1p-53 * square;
    double const moved = is_small ? std::min(moving * std::sqrt(spread), range) : range;
    double const mean = is_small ? std::min(magnitude + moving * std::sqrt(square), largest) : largest;
    double const unit = v_has_bfloat16s_ ? 0 : bfloat16_unit;
    out.bfloat16_offset[i] = moved + unit * mean + static_cast<double>(n_) * 0x1p-125 * largest;
    out.bfloat16_scale[i] = (1 + unit) * mean + std::abs(value) + out.bfloat16_offset[i];
  }

  [[nodiscard]] bool sums_are_exact(Weights<T> const& weights, double result) const {
    double const unit = unit_roundoff(dtype_of<T>);
    bool const power_of_two = weights.ones > 0 && std::exp2(std::round(std::log2(weights.ones))) == weights.ones;
    double const most = weights.ones * result * (1 + 0x1p-52 * static_cast<double>(n_));
    return weights.exact && power_of_two && weights.ones * unit <= 1 && lowest_value_ > 0 && v_grid_.holds<T>(most) &&
           weights.rest <= 0x1p-24 * unit && weights.rest * highest_value_ <= 0x1p-24 * unit * v_grid_.spacing();
  }

  [[nodiscard]] Weights<T> weigh(T const* q) const {
    Weights<T> weights;
    W const u = static_cast<W>(unit_roundoff(dtype_of<T>));
    weights.score.resize(n_);
    weights.magnitude.resize(n_);
    W* const score = weights.score.data();
    W* const magnitude = weights.magnitude.data();
    constexpr W most = static_cast<W>(std::numeric_limits<T>::max());
    W const size = std::abs(static_cast<W>(scale_));
    for (std::size_t c = 0; c < d_; ++c) {
      W const factor = q[c];
      if (std::isfinite(factor) && std::abs(factor) * size > most) weights.may_overflow = true;
    }
    struct Scores {
      W largest = -std::numeric_limits<W>::infinity();
      W widest = 0;
      bool may_overflow = false;
    };
    std::vector<Scores> scores(blocks_in(n_, of_block_));
    for_blocks(n_, of_block_, [&](std::size_t block, std::size_t begin, std::size_t end) {
      for (std::size_t c = 0; c < d_; ++c) {
        W const factor = q[c];
        T const* const column = &turned_[c * n_];
        for (std::size_t j = begin; j < end; ++j) {
          W const product = factor * column[j];
          score[j] += product;
          magnitude[j] += product < 0 ? -product : product;
        }
      }
      Scores& own = scores[block];
      for (std::size_t j = begin; j < end && !std::isnan(own.largest); ++j) {
        if (std::isfinite(magnitude[j]) && magnitude[j] * std::max(size, W(1)) > most) own.may_overflow = true;
        score[j] *= static_cast<W>(scale_);
        if (std::isnan(score[j]) || score[j] > own.largest) own.largest = score[j];
      }
      for (std::size_t j = begin; j < end; ++j) own.widest = std::max(own.widest, magnitude[j]);
    });
    // Behind a NaN nothing changes the result.
    Scores all;
    for (Scores const& own : scores) {
      all.widest = std::max(all.widest, own.widest);
      if (std::isnan(all.largest)) continue;
      if (own.may_overflow) weights.may_overflow = true;
      if (std::isnan(own.largest) || own.largest > all.largest) all.largest = own.largest;
    }
    W const largest = all.largest;
    W const widest = all.widest;
    verify::Grid factor;
    factor.add(scale_);
    int exponent = 0;
    weights.exact =
        std::abs(std::frexp(scale_, &exponent)) == 0.5 &&
        verify::grid_of(q, d_).times(k_grid_).times(factor).template holds<T>(static_cast<double>(2 * widest * size));
    bool const q_has_bfloat16s = has_bfloat16 && verify::fit_into_bits(q, d_, bfloat16_bits);
    weights.bfloat16_exact = q_has_bfloat16s && k_has_bfloat16s_ && std::abs(largest) <= W(4096);
    W const of_q = q_has_bfloat16s ? 1 : 1 + bfloat16_unit;
    W const of_k = k_has_bfloat16s_ ? 1 : 1 + bfloat16_unit;
    [[maybe_unused]] W const of_unit = of_q * of_k * (1 + 40 * u * static_cast<W>((d_ + 15) / 16)) - 1;
    [[maybe_unused]] auto const of_exponent = [&](W below) { return 4 * u * (std::abs(below) + size * widest + 3); };
    std::vector<Weights<T>> of_blocks(scores.size());  // their sums
    for_blocks(n_, of_block_, [&](std::size_t block, std::size_t begin, std::size_t end) {
      Weights<T>& own = of_blocks[block];
      for (std::size_t j = begin; j < end; ++j) {
        W const below = score[j] - largest;  // NaN if all are -infinity or one is +infinity
        score[j] = std::exp(below);
        own.total += score[j];
        if (below == 0) {
          ++own.ones;
        } else {
          own.rest += static_cast<double>(score[j]);
        }
        W error = (static_cast<W>(d_ + 1) * size * magnitude[j] + std::abs(below) + 4) * u;
        if (weights.exact) error = below == 0 ? W(0) : 4 * u;
        if constexpr (has_bfloat16)
          add_bfloat16(of_unit * size * magnitude[j] + of_exponent(below), score[j], below, own);
        // A weight of 0 has no relative error; the allowance for denormals covers it.
        magnitude[j] = score[j] == 0 ? W(0) : std::expm1(std::min(error, W(700)));
      }
    });
    for (Weights<T> const& own : of_blocks) {
      weights.total += own.total;
      weights.ones += own.ones;
      weights.rest += own.rest;
      weights.bfloat16_error += own.bfloat16_error;
      weights.bfloat16_square += own.bfloat16_square;
    }
    weights.bfloat16_error /= static_cast<double>(weights.total);
    weights.bfloat16_square /= static_cast<double>(weights.total);
    return weights;
  }

  // Adds a weight, e^below, that is off by a factor of up to e^error, and rounded.
  static void add_bfloat16(W error, W weight, W below, Weights<T>& weights) {
    if (error < W(50)) {
      double const relative = (1 + bfloat16_unit) * std::exp(static_cast<double>(error)) - 1;
      double const moved = static_cast<double>(weight) * relative;
      weights.bfloat16_error += moved;
      weights.bfloat16_square += moved * relative;
    } else {  // a weight that is 0 here may be larger in a variant
      weights.bfloat16_error += 2 * std::exp(static_cast<double>(std::min(below + error, W(700))));
      weights.bfloat16_square += 2 * std::exp(static_cast<double>(std::min(below + 2 * error, W(700))));
    }
  }

  T const* v_;
  std::size_t n_;
  std::size_t d_;
  std::size_t of_block_;  // keys; depends on their number only, and so do the bits of the result
  double scale_;
  double growth_;          // relative growth of a sum's magnitude by all roundings
  std::vector<T> turned_;  // k, transposed, so that the compiler vectorises over neighbouring keys
  std::vector<double> lowest_;
  std::vector<double> highest_;
  verify::Grid k_grid_;
  verify::Grid v_grid_;
  bool k_has_bfloat16s_;
  bool v_has_bfloat16s_;
  double lowest_value_ = 0;
  double highest_value_ = 0;
};

}  // namespace

template <class T>
std::vector<ExpectedField> Attention::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const queries = input.q.extent(0);
  std::size_t const d = input.q.extent(1);
  std::size_t const n = input.k.extent(0);
  ExpectedField out = zero_field("out", {queries, d}, true);
  out.offset = out.scale;
  if (std::is_same_v<T, float>) out.bfloat16_scale = out.bfloat16_offset = out.scale;
  out.each_sees_all = true;
  if (n > 0 && d > 0) {
    Oracle<T>(input.k.data(), input.v.data(), n, d, input.parameters.scale).answer(input.q.data(), queries, out);
  }
  return list_of(std::move(out));
}

}  // namespace tessera::attention

template struct tessera::References<tessera::attention::Attention>;
