/// \file
/// The serial oracle of transformer_block_backward: the forward stages and their gradients, one stage after the other,
/// in double for float and in long double for double.
///
/// Error bound. For a chain of stages a bound that always holds says nothing: each product multiplies it by the sum of
/// the weights' magnitudes, and there are a dozen products from x to dx. So every element has an estimate of its error
/// instead, by Monte Carlo arithmetic (D. S. Parker, Monte Carlo arithmetic, 1997), as in transformer_block. To first
/// order the error of an element is a sum of all roundings times its derivatives: a random number with a standard
/// deviation D. The oracle computes everything `probes` more times, with an error of random sign in every result of
/// every stage, as large as the roundings of that stage make it. The changes of a gradient then have the deviation D.
///
/// Sizes of the errors, in units of u sqrt(s). The plan's longest chain of roundings of one stage, s, is at least 64:
/// a single rounding is at most 1/8 of a unit.
///
///   product    |b w|_2 over its terms. The partial sums of terms with random signs are no larger
///   row sums   sum|term| / d for the means of a layernorm and of its gradient: one error of the whole row
///   attention  scale |q k|_2 for a score, (|s - M| + 4) / 8 for a weight, 1 for the sum of the weights, sum p|v| for a
///              mean, |dmean v|_2 for a weight's gradient dp, and for the mean of these sum p|dp| + |dmean sum p|v||_2,
///              because it is also dmean mean
///   gelu       |h| / 2; for its derivative 1, because 1 + erf cancels: the error is at most 4 u
///   others     the magnitudes that enter, by 8 for each rounding
///
/// The smallest denormal is added to each, for results that underflow. Weights are computed twice, as variants do, with
/// errors of their own.
///
/// D of an element is the largest of three: the size of its own last stage, the root mean square of its own changes,
/// and that of its row's changes (vectors are one row). It counts twice, for the error of this estimate. verify.hpp
/// allows 8 sqrt(s) u of it for generated data, which is 16 standard deviations. Other data may have roundings that are
/// not independent and sums of one sign: they are allowed s u times eight times the estimate, at least 8 times as
/// much. For chains s of all terms, s u 8 |b w|_2 >= 8 u sqrt(s) sum|b w|.
///
/// Nothing is checked if a value of any stage is not finite or not below 2^40: a product or square might leave the
/// range, and a weight of 0 times a gradient that is not finite is not 0. Parameters see all rows, so this is said of
/// all gradients together.
///
/// check() refuses integers; the reference accepts them because every dtype of a build needs a reference.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/core/random.hpp>
#include <tessera/table/references.hpp>

namespace tessera::transformer_block_backward {

namespace {

constexpr int probes = 4;
constexpr double small = 0x1p-26;  // u sqrt(s) in the probes: their changes are linear

// The errors of one number in the probes: uniform, with mean 0 and variance 1.
class Noise {
 public:
  Noise(std::uint64_t stage, std::uint64_t index) : bits_(random_bits(21, stage, index)) {}

  [[nodiscard]] double operator()(int probe, double size) const {
    double const fraction = static_cast<double>(bits_ >> (16 * probe) & 0xffff) / 32767.5 - 1;
    return small * std::numbers::sqrt3 * fraction * size;
  }

 private:
  std::uint64_t bits_;
};

// The result of a stage, or an input.
template <class W>
struct Matrix {
  std::size_t rows;
  std::size_t cols;
  std::vector<W> value;
  std::vector<double> size;                        // of the stage's errors
  std::array<std::vector<double>, probes> probed;  // values of the probes; of an input only the first: they are equal
  bool is_input;

  Matrix(std::size_t of_rows, std::size_t of_cols, bool input = false)
      : rows(of_rows), cols(of_cols), value(rows * cols), size(rows * cols), is_input(input) {
    for (int p = 0; p < (input ? 1 : probes); ++p) probed[p].resize(rows * cols);
  }
  [[nodiscard]] std::vector<double> const& probe(int p) const { return probed[is_input ? 0 : p]; }
  [[nodiscard]] double magnitude(std::size_t i) const { return std::abs(static_cast<double>(value[i])); }
};

template <class W>
[[nodiscard]] Matrix<W> transposed(Matrix<W> const& a) {
  Matrix<W> result(a.cols, a.rows, a.is_input);
  for (std::size_t r = 0; r < a.rows; ++r) {
    for (std::size_t c = 0; c < a.cols; ++c) {
      result.value[c * a.rows + r] = a.value[r * a.cols + c];
      for (int p = 0; p < (a.is_input ? 1 : probes); ++p)
        result.probed[p][c * a.rows + r] = a.probed[p][r * a.cols + c];
    }
  }
  return result;
}

template <class T>
class Oracle {
 public:
  using W = std::conditional_t<std::is_same_v<T, double>, long double, double>;
  using M = Matrix<W>;
  using Input = InputOnHost<TransformerBlockBackward, T>;

  explicit Oracle(Input const& input)
      : in_(input), d_(input.d_model()), rows_(input.rows()), tokens_(input.tokens()), dim_(input.d_head()) {}

  [[nodiscard]] std::vector<ExpectedField> gradients() {
    // Forward.
    M const x = input(in_.x, rows_, d_);
    M const gamma1 = input(in_.gamma1, 1, d_);
    M const gamma2 = input(in_.gamma2, 1, d_);
    M const wq = input(in_.wq, d_, d_);
    M const wk = input(in_.wk, d_, d_);
    M const wv = input(in_.wv, d_, d_);
    M const wo = input(in_.wo, d_, d_);
    M const w1 = input(in_.w1, in_.d_ff(), d_);
    M const w2 = input(in_.w2, d_, in_.d_ff());
    Normal const first = normalise(x);
    M const ln = scale_and_shift(first.xhat, gamma1, input(in_.beta1, 1, d_));
    M const q = layer(ln, wq, input(in_.bq, 1, d_));
    M const k = layer(ln, wk, input(in_.bk, 1, d_));
    M const v = layer(ln, wv, input(in_.bv, 1, d_));
    M const mean = attend(q, k, v);
    M const a = add(x, layer(mean, wo, input(in_.bo, 1, d_)));
    Normal const second = normalise(a);
    M const ln_of_a = scale_and_shift(second.xhat, gamma2, input(in_.beta2, 1, d_));
    M const h = layer(ln_of_a, w1, input(in_.b1, 1, in_.d_ff()));

    // Backward, from y to x.
    M const g = input(in_.grad_y, rows_, d_);
    M const dh = through_gelu(h, multiply(g, w2));
    M const dln_of_a = multiply(dh, w1);
    M const da = add(g, through_normalise(second, gamma2, dln_of_a));
    Heads const heads = through_attention(q, k, v, mean, multiply(da, wo));
    M const dln = add(add(multiply(heads.dq, wq), multiply(heads.dk, wk)), multiply(heads.dv, wv));
    M const dx = add(da, through_normalise(first, gamma1, dln));

    std::vector<ExpectedField> fields;
    auto const put = [&](M const& m) { fields.push_back(field(fields.size(), m)); };
    auto const put_layer = [&](M const& dc, M const& b) {
      put(multiply(transposed(dc), b));
      put(column_sums(dc));
    };
    put(dx);
    put(column_sums(products(dln, first.xhat)));
    put(column_sums(dln));
    put_layer(heads.dq, ln);
    put_layer(heads.dk, ln);
    put_layer(heads.dv, ln);
    put_layer(da, mean);
    put(column_sums(products(dln_of_a, second.xhat)));
    put(column_sums(dln_of_a));
    put_layer(dh, ln_of_a);
    put_layer(g, apply_gelu(h));
    std::vector<Shape> const shapes = TransformerBlockProblem::shapes(in_.sequences(), tokens_, d_, in_.d_ff());
    // A bias of all keys changes no weight, and the weight of a single token is 1: these gradients are 0. No bound is
    // small beside that, so it says nothing about how closely they are checked: a row is never weak because of them.
    using Block = TransformerBlockProblem;
    fields[Block::bk_].terms = 1;
    for (std::size_t const f : {Block::wq_, Block::bq_, Block::wk_}) {
      if (tokens_ == 1) fields[f].terms = 1;
    }
    for (std::size_t f = 0; f < fields.size(); ++f) {
      fields[f].shape = shapes[f];
      if (tame_) continue;
      std::fill(fields[f].value.begin(), fields[f].value.end(), 0.0);
      for (auto* const scale : {&fields[f].scale, &fields[f].random_scale}) {
        std::fill(scale->begin(), scale->end(), std::numeric_limits<double>::infinity());
      }
    }
    return fields;
  }

 private:
  struct Normal {
    M xhat;
    M inverse;  // of the standard deviation: one per row
  };
  struct Heads {
    M dq;
    M dk;
    M dv;
  };

  // A field of the input as a matrix.
  template <class View>
  [[nodiscard]] M input(View const& view, std::size_t rows, std::size_t cols) {
    M result(rows, cols, true);
    for (std::size_t i = 0; i < result.value.size(); ++i) {
      result.value[i] = static_cast<W>(view.data()[i]);
      result.probed[0][i] = static_cast<double>(view.data()[i]);
    }
    note(result);
    return result;
  }

  // Whether all values so far are finite and small enough.
  void note(M const& m) {
    for (W const value : m.value) tame_ = tame_ && std::abs(static_cast<double>(value)) < 0x1p40;
  }

  // Adds the errors of a stage to the probes of its results.
  void disturb(M& m) {
    std::uint64_t const stage = stage_++;
    for (std::size_t i = 0; i < m.value.size(); ++i) {
      Noise const noise(stage, i);
      if (m.size[i] > 0) m.size[i] += tiny();
      for (int p = 0; p < probes; ++p) m.probed[p][i] += noise(p, m.size[i]);
    }
    note(m);
  }
  // The smallest denormal in units of u.
  [[nodiscard]] static double tiny() {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(std::numeric_limits<T>::denorm_min()) / unit_roundoff(dtype_of<T>);
    }
    return 0;
  }

  // Calls body(value of a result, values of factors...) for the exact numbers and for each probe; `f` computes a result
  // element by element, and `size` the size of its error.
  template <class F, class Size, class... Factors>
  [[nodiscard]] M each(std::size_t rows, std::size_t cols, F const& f, Size const& size, Factors const&... factors) {
    M result(rows, cols);
    for (std::size_t i = 0; i < result.value.size(); ++i) {
      auto const at = [&](M const& m) { return m.rows == rows ? i : i % cols; };  // a row for all rows
      result.value[i] = f(factors.value[at(factors)]...);
      result.size[i] = size(static_cast<double>(factors.value[at(factors)])...);
      for (int p = 0; p < probes; ++p) result.probed[p][i] = f(factors.probe(p)[at(factors)]...);
    }
    disturb(result);
    return result;
  }

  [[nodiscard]] M add(M const& a, M const& b) {
    return each(
        a.rows, a.cols, [](auto x, auto y) { return x + y; }, [](double x, double y) { return std::abs(x + y) / 8; }, a,
        b);
  }
  [[nodiscard]] M products(M const& a, M const& b) {
    return each(
        a.rows, a.cols, [](auto x, auto y) { return x * y; }, [](double x, double y) { return std::abs(x * y) / 8; }, a,
        b);
  }
  [[nodiscard]] M scale_and_shift(M const& xhat, M const& gamma, M const& beta) {
    return each(
        xhat.rows, xhat.cols, [](auto x, auto g, auto b) { return g * x + b; },
        [](double x, double g, double b) { return (std::abs(g * x) + std::abs(b)) / 4; }, xhat, gamma, beta);
  }
  [[nodiscard]] M apply_gelu(M const& h) {
    return each(
        h.rows, h.cols, [](auto x) { return x * normal_integral(x); }, [](double x) { return std::abs(x) / 2; }, h);
  }
  [[nodiscard]] M through_gelu(M const& h, M const& du) {
    return each(
        h.rows, h.cols,
        [](auto x, auto g) {
          using Real = decltype(x);
          Real const density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<Real>);
          return g * (normal_integral(x) + x * density);
        },
        [](double, double g) { return std::abs(g); }, h, du);
  }
  template <class Real>
  [[nodiscard]] static Real normal_integral(Real x) {
    return std::erfc(-x / std::sqrt(Real(2))) / 2;
  }

  // a b.
  [[nodiscard]] M multiply(M const& a, M const& b) {
    M result(a.rows, b.cols);
    std::size_t const n = b.cols;
    for_blocks(a.rows, 8, [&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t h = 0; h < a.cols; ++h) {
        for (std::size_t r = begin; r < end; ++r) {
          std::size_t const i = r * a.cols + h;
          add_row(a.value[i], b.value.data() + h * n, n, result.value.data() + r * n);
          add_squares(static_cast<double>(a.value[i]), b.value.data() + h * n, n, result.size.data() + r * n);
          for (int p = 0; p < probes; ++p)
            add_row(a.probe(p)[i], b.probe(p).data() + h * n, n, result.probed[p].data() + r * n);
        }
      }
      for (std::size_t i = begin * n; i < end * n; ++i) result.size[i] = std::sqrt(result.size[i]);
    });
    disturb(result);
    return result;
  }
  template <class Real>
  static void add_row(Real a, Real const* __restrict__ b, std::size_t n, Real* __restrict__ sum) {
    for (std::size_t j = 0; j < n; ++j) sum[j] += a * b[j];
  }
  static void add_squares(double a, W const* __restrict__ b, std::size_t n, double* __restrict__ sum) {
    for (std::size_t j = 0; j < n; ++j) sum[j] += a * static_cast<double>(b[j]) * (a * static_cast<double>(b[j]));
  }
  // a w^T + bias.
  [[nodiscard]] M layer(M const& a, M const& w, M const& bias) {
    return each(
        a.rows, w.rows, [](auto c, auto b) { return c + b; }, [](double c, double b) { return std::abs(c + b) / 8; },
        multiply(a, transposed(w)), bias);
  }
  [[nodiscard]] M column_sums(M const& a) {
    M ones(1, a.rows, true);
    std::fill(ones.value.begin(), ones.value.end(), W(1));
    std::fill(ones.probed[0].begin(), ones.probed[0].end(), 1.0);
    return multiply(ones, a);
  }

  // xhat and 1 / sqrt(variance + eps) of each row.
  [[nodiscard]] Normal normalise(M const& x) {
    Normal result{M(x.rows, d_), M(x.rows, 1)};
    std::uint64_t const stage = stage_;
    stage_ += 2;
    for (std::size_t r = 0; r < x.rows; ++r) {
      double distances = 0;
      for (std::size_t c = 0; c < d_; ++c) {
        distances += std::abs(static_cast<double>(x.value[r * d_ + c] - x.value[r * d_])) / static_cast<double>(d_);
      }
      result.inverse.value[r] = normalise_row(x.value.data() + r * d_, W(0), W(0), result.xhat.value.data() + r * d_);
      for (int p = 0; p < probes; ++p) {
        double const off = Noise(stage, r)(p, distances);
        double const factor = Noise(stage + 1, r)(p, 1);
        result.inverse.probed[p][r] =
            normalise_row(x.probe(p).data() + r * d_, off, factor, result.xhat.probed[p].data() + r * d_);
      }
      for (std::size_t i = r * d_; i < (r + 1) * d_; ++i) {
        double const distance = std::abs(static_cast<double>(x.value[i] - x.value[r * d_]));
        result.xhat.size[i] =
            (distance * static_cast<double>(result.inverse.value[r]) + 7 * result.xhat.magnitude(i)) / 8;
      }
    }
    disturb(result.xhat);
    note(result.inverse);
    return result;
  }
  // With an error of the mean and a relative error of the result, 1 / sqrt(variance + eps).
  template <class Real>
  [[nodiscard]] Real normalise_row(Real const* x, Real off, Real factor, Real* xhat) const {
    auto const n = static_cast<Real>(d_);
    Real mean = 0;
    Real squares = 0;
    for (std::size_t c = 0; c < d_; ++c) mean += (x[c] - x[0]) / n;
    mean += off;
    for (std::size_t c = 0; c < d_; ++c) squares += (x[c] - x[0] - mean) * (x[c] - x[0] - mean);
    Real const inverse = (1 + factor) / std::sqrt(squares / n + static_cast<Real>(static_cast<T>(in_.parameters.eps)));
    for (std::size_t c = 0; c < d_; ++c) xhat[c] = (x[c] - x[0] - mean) * inverse;
    return inverse;
  }

  // The gradient of the rows that were normalised, given that of their layernorm.
  [[nodiscard]] M through_normalise(Normal const& normal, M const& gamma, M const& dln) {
    M result(dln.rows, d_);
    std::uint64_t const stage = stage_;
    stage_ += 2;
    std::vector<double> size(d_);
    for (std::size_t r = 0; r < dln.rows; ++r) {
      std::size_t const at = r * d_;
      W const inverse = normal.inverse.value[r];
      auto const [mean, mean_of_x] =
          gradient_of_row(dln.value.data() + at, gamma.value.data(), normal.xhat.value.data() + at, inverse, W(0), W(0),
                          result.value.data() + at);
      double all = 0;
      double all_of_x = 0;
      for (std::size_t c = 0; c < d_; ++c) {
        double const g = dln.magnitude(at + c) * gamma.magnitude(c);
        double const xhat = normal.xhat.magnitude(at + c);
        all += g / static_cast<double>(d_);
        all_of_x += g * xhat / static_cast<double>(d_);
        result.size[at + c] =
            static_cast<double>(inverse) *
            (g + std::abs(static_cast<double>(mean)) + xhat * std::abs(static_cast<double>(mean_of_x))) / 2;
      }
      for (int p = 0; p < probes; ++p) {
        gradient_of_row(dln.probe(p).data() + at, gamma.probe(p).data(), normal.xhat.probe(p).data() + at,
                        normal.inverse.probe(p)[r], Noise(stage, r)(p, all), Noise(stage + 1, r)(p, all_of_x),
                        result.probed[p].data() + at);
      }
    }
    disturb(result);
    return result;
  }
  // With errors of both means.
  template <class Real>
  std::pair<Real, Real> gradient_of_row(Real const* dln, Real const* gamma, Real const* xhat, Real inverse, Real off,
                                        Real off_of_x, Real* dx) const {
    auto const n = static_cast<Real>(d_);
    Real mean = off;
    Real mean_of_x = off_of_x;
    for (std::size_t c = 0; c < d_; ++c) {
      mean += dln[c] * gamma[c] / n;
      mean_of_x += dln[c] * gamma[c] * xhat[c] / n;
    }
    for (std::size_t c = 0; c < d_; ++c) dx[c] = inverse * (dln[c] * gamma[c] - mean - xhat[c] * mean_of_x);
    return {mean, mean_of_x};
  }

  // A head of a sequence: its first row and column.
  struct Place {
    std::size_t row;
    std::size_t col;
    std::size_t number;  // of the head
  };
  // Calls body(place) for all heads of all sequences.
  template <class Body>
  void each_head(Body const& body) const {
    std::size_t const heads = d_ / dim_;
    if (rows_ == 0) return;
    for_blocks(in_.sequences() * heads, 1, [&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) body(Place{i / heads * tokens_, i % heads * dim_, i % heads});
    });
  }
  [[nodiscard]] std::size_t keys_of(std::size_t token) const { return in_.parameters.causal ? token + 1 : tokens_; }

  template <class Real>
  [[nodiscard]] Real dot(Real const* a, Real const* b) const {
    Real sum = 0;
    for (std::size_t c = 0; c < dim_; ++c) sum += a[c] * b[c];
    return sum;
  }
  // |a b|_2
  [[nodiscard]] double norm(W const* a, W const* b) const {
    double squares = 0;
    for (std::size_t c = 0; c < dim_; ++c)
      squares += static_cast<double>(a[c] * b[c]) * static_cast<double>(a[c] * b[c]);
    return std::sqrt(squares);
  }

  // The weights of a query's keys; of probe p, or without errors if p < 0. `sizes`: |q k|_2 of each key.
  template <class Real>
  void weigh(Place const& place, std::size_t token, std::vector<Real> const& q, std::vector<Real> const& k,
             std::vector<double> const& sizes, std::uint64_t stage, int p, std::vector<Real>& weight) const {
    std::size_t const query = place.row + token;
    std::size_t const index = (query * (d_ / dim_) + place.number) * tokens_;
    auto const scale = static_cast<Real>(in_.score_scale());
    weight.resize(keys_of(token));
    for (std::size_t j = 0; j < weight.size(); ++j) {
      weight[j] = scale * dot(q.data() + query * d_ + place.col, k.data() + (place.row + j) * d_ + place.col);
      if (p >= 0) weight[j] += scale * static_cast<Real>(Noise(stage, index + j)(p, sizes[j]));
    }
    Real const most = *std::max_element(weight.begin(), weight.end());
    Real total = 0;
    for (std::size_t j = 0; j < weight.size(); ++j) {
      Real const below = weight[j] - most;
      weight[j] = std::exp(below);
      if (p >= 0)
        weight[j] *= 1 + static_cast<Real>(Noise(stage + 1, index + j)(p, (4 - static_cast<double>(below)) / 8));
      total += weight[j];
    }
    if (p >= 0) total *= 1 + static_cast<Real>(Noise(stage + 2, index)(p, 1));
    for (Real& w : weight) w /= total;
  }
  [[nodiscard]] std::vector<double> score_sizes(Place const& place, std::size_t token, M const& q, M const& k) const {
    std::vector<double> sizes(keys_of(token));
    for (std::size_t j = 0; j < sizes.size(); ++j) {
      sizes[j] = norm(q.value.data() + (place.row + token) * d_ + place.col,
                      k.value.data() + (place.row + j) * d_ + place.col);
    }
    return sizes;
  }

  [[nodiscard]] M attend(M const& q, M const& k, M const& v) {
    M mean(rows_, d_);
    std::uint64_t const stage = stage_;
    stage_ += 3;
    each_head([&](Place const& place) {
      auto const sum = [&](auto const& weight, auto const& values, std::size_t to, auto& sums) {
        for (std::size_t j = 0; j < weight.size(); ++j) {
          add_row(weight[j], values.data() + (place.row + j) * d_ + place.col, dim_, sums.data() + to);
        }
      };
      std::vector<W> weight;
      std::vector<double> probed;
      for (std::size_t token = 0; token < tokens_; ++token) {
        std::vector<double> const sizes = score_sizes(place, token, q, k);
        std::size_t const to = (place.row + token) * d_ + place.col;
        weigh(place, token, q.value, k.value, sizes, stage, -1, weight);
        sum(weight, v.value, to, mean.value);
        for (std::size_t j = 0; j < weight.size(); ++j) {
          for (std::size_t c = 0; c < dim_; ++c) {
            mean.size[to + c] += static_cast<double>(weight[j]) * v.magnitude((place.row + j) * d_ + place.col + c);
          }
        }
        for (int p = 0; p < probes; ++p) {
          weigh(place, token, q.probe(p), k.probe(p), sizes, stage, p, probed);
          sum(probed, v.probe(p), to, mean.probed[p]);
        }
      }
    });
    disturb(mean);
    return mean;
  }

  // The gradients of q, k and v, given that of the mean.
  [[nodiscard]] Heads through_attention(M const& q, M const& k, M const& v, M const& mean, M const& dmean) {
    Heads result{M(rows_, d_), M(rows_, d_), M(rows_, d_)};
    std::uint64_t const stage = stage_;
    stage_ += 6;
    each_head([&](Place const& place) {
      std::vector<W> weight;
      std::vector<W> dp;
      std::vector<double> weight_probed;
      std::vector<double> dp_probed;
      for (std::size_t token = 0; token < tokens_; ++token) {
        std::size_t const query = (place.row + token) * d_ + place.col;
        std::vector<double> const sizes = score_sizes(place, token, q, k);
        std::vector<double> dp_sizes(sizes.size());
        for (std::size_t j = 0; j < sizes.size(); ++j) {
          dp_sizes[j] = norm(dmean.value.data() + query, v.value.data() + (place.row + j) * d_ + place.col);
        }
        weigh(place, token, q.value, k.value, sizes, stage, -1, weight);
        // The gradients of the scores are in dp afterwards.
        double all = through_softmax(place, token, v.value, dmean.value, weight, stage, -1, dp_sizes, 0, dp);
        double squares = 0;
        for (std::size_t c = query; c < query + dim_; ++c) squares += std::pow(dmean.magnitude(c) * mean.size[c], 2);
        all += std::sqrt(squares);
        add_query(place, token, weight, dp, q.value, k.value, dmean.value, result.dq.value, result.dk.value,
                  result.dv.value);
        for (std::size_t j = 0; j < dp.size(); ++j) {
          std::size_t const key = (place.row + j) * d_ + place.col;
          auto const ds = static_cast<double>(dp[j]);
          add_squares(ds, k.value.data() + key, dim_, result.dq.size.data() + query);
          add_squares(ds, q.value.data() + query, dim_, result.dk.size.data() + key);
          add_squares(static_cast<double>(weight[j]), dmean.value.data() + query, dim_, result.dv.size.data() + key);
        }
        for (int p = 0; p < probes; ++p) {
          weigh(place, token, q.probe(p), k.probe(p), sizes, stage, p, weight_probed);
          through_softmax(place, token, v.probe(p), dmean.probe(p), weight_probed, stage, p, dp_sizes, all, dp_probed);
          add_query(place, token, weight_probed, dp_probed, q.probe(p), k.probe(p), dmean.probe(p), result.dq.probed[p],
                    result.dk.probed[p], result.dv.probed[p]);
        }
      }
    });
    for (M* const m : {&result.dq, &result.dk, &result.dv}) {
      for (double& size : m->size) size = std::sqrt(size);
      disturb(*m);
    }
    return result;
  }
  // The gradients of a query's scores, times the factor of the scores. Returns sum p|dp|.
  template <class Real>
  double through_softmax(Place const& place, std::size_t token, std::vector<Real> const& v,
                         std::vector<Real> const& dmean, std::vector<Real> const& weight, std::uint64_t stage, int p,
                         std::vector<double> const& dp_sizes, double of_mean, std::vector<Real>& dp) const {
    std::size_t const query = place.row + token;
    std::size_t const index = (query * (d_ / dim_) + place.number) * tokens_;
    auto const scale = static_cast<Real>(in_.score_scale());
    dp.resize(weight.size());
    Real mean = 0;
    double all = 0;
    for (std::size_t j = 0; j < dp.size(); ++j) {
      dp[j] = dot(dmean.data() + query * d_ + place.col, v.data() + (place.row + j) * d_ + place.col);
      if (p >= 0) dp[j] += static_cast<Real>(Noise(stage + 3, index + j)(p, dp_sizes[j]));
      mean += weight[j] * dp[j];
      all += std::abs(static_cast<double>(weight[j] * dp[j]));
    }
    if (p >= 0) mean += static_cast<Real>(Noise(stage + 4, index)(p, of_mean));
    for (std::size_t j = 0; j < dp.size(); ++j) {
      double const entered = static_cast<double>(weight[j] * (std::abs(dp[j]) + std::abs(mean)));
      dp[j] = weight[j] * (dp[j] - mean);
      if (p >= 0) dp[j] += static_cast<Real>(Noise(stage + 5, index + j)(p, entered / 4));
      dp[j] *= scale;
    }
    return all;
  }
  template <class Real>
  void add_query(Place const& place, std::size_t token, std::vector<Real> const& weight, std::vector<Real> const& ds,
                 std::vector<Real> const& q, std::vector<Real> const& k, std::vector<Real> const& dmean,
                 std::vector<Real>& dq, std::vector<Real>& dk, std::vector<Real>& dv) const {
    std::size_t const query = (place.row + token) * d_ + place.col;
    for (std::size_t j = 0; j < ds.size(); ++j) {
      std::size_t const key = (place.row + j) * d_ + place.col;
      add_row(ds[j], k.data() + key, dim_, dq.data() + query);
      add_row(ds[j], q.data() + query, dim_, dk.data() + key);
      add_row(weight[j], dmean.data() + query, dim_, dv.data() + key);
    }
  }

  // A gradient with its bounds.
  [[nodiscard]] ExpectedField field(std::size_t number, M const& m) const {
    std::string const name(OutputOn<TransformerBlockBackward, Kokkos::DefaultHostExecutionSpace, T>::names[number]);
    ExpectedField result = zero_field(name, {m.value.size()}, true);
    result.random_scale = result.scale;
    for (std::size_t r = 0; r < m.rows; ++r) {
      double of_row = 0;
      for (std::size_t i = r * m.cols; i < (r + 1) * m.cols; ++i) {
        double own = 0;
        for (int p = 0; p < probes; ++p) {
          double const change = (m.probe(p)[i] - static_cast<double>(m.value[i])) / small;
          own += change * change / probes;
        }
        of_row += own / static_cast<double>(m.cols);
        result.value[i] = static_cast<double>(m.value[i]);
        result.random_scale[i] = std::max(own, m.size[i] * m.size[i]);
      }
      for (std::size_t i = r * m.cols; i < (r + 1) * m.cols; ++i) {
        result.random_scale[i] = 2 * std::sqrt(std::max(result.random_scale[i], of_row));
        result.scale[i] = 8 * result.random_scale[i];
      }
    }
    return result;
  }

  Input const& in_;
  std::size_t d_;
  std::size_t rows_;
  std::size_t tokens_;
  std::size_t dim_;
  std::uint64_t stage_ = 0;  // number of the next stage, for its errors
  bool tame_ = true;
};

}  // namespace

template <class T>
std::vector<ExpectedField> TransformerBlockBackward::reference(Input<T, Kokkos::HostSpace> const& input) {
  return Oracle<T>(input).gradients();
}

}  // namespace tessera::transformer_block_backward

template struct tessera::References<tessera::transformer_block_backward::TransformerBlockBackward>;
