/// \file
/// The serial oracle of transformer_block: one sequence at a time, stage by stage, in double for float and in at least
/// that for double. It can compute some rows only: their queries and everything after, and the keys and values of all
/// tokens that they see.
///
/// Error bound. Each value v carries a scale S through the stages: a variant's value is off by at most g S, with g = (1
/// + u)^s - 1 and s the longest chain of roundings *of one stage*. G >= g is the growth of the longest chain of any
/// variant; it turns products of errors, g S g S', into g (S G S').
///
///   layernorm  X of verify/normalised_rows.hpp for the stage's own roundings. An error D of the row moves xhat by at
///              most (|D_h| + mean|D| + |xhat_h| rms(D)) / (sigma (1 - rms(D) / sigma)), with sigma = sqrt(var + eps).
///              S = |gamma| (all of these + |xhat|) + |beta|.
///   product    S = sum |w| (S_a (1 + G) + |a|) + |b|  (Higham, Accuracy and Stability of Numerical Algorithms, 3.5).
///   attention  a score is off by g e, e = scale sum_c (S_q |k| + (|q| + G S_q) S_k + |q k|) + |s - M| + 4; the last
///              two are the roundings of the exponential's argument and of itself. A weight p_j is off by the factor
///              e^(+-g e_j), that is by at most g e'_j p_j, e' = expm1(G e) / G. With E = sum p_j e'_j, the mean
///              moves by g sum p_j e'_j |v_j - out| / (1 - G E); the errors of the values, and the chain of
///              additions, are weighted by the variant's weights, p_j (1 + G e'_j) / (1 - G E).
///   gelu       S = 1.13 S_h + |h|: its derivative is below 1.13, and u |h| is the error of 1 + erf for negative h.
///   residual   S = S_a + S_b + |a + b|.
///
/// S always holds, but grows by the sum of the weights' magnitudes, 0.87 sqrt(k), in each product: it is useless for
/// rows of 1000 elements. For generated data roundings are as good as independent, with mean 0 (verify/verify.hpp). To
/// first order the error of an element of y is then a sum of all roundings d_i times its derivatives c_i, and is below
/// 8 u sqrt(sum c_i^2), except with a probability of 2.6e-14. The oracle estimates sum c_i^2 by Monte Carlo arithmetic
/// (D. S. Parker, Monte Carlo arithmetic, 1997): it computes the block `probes` more times with small errors of random
/// sign in every stage, each as large as s roundings of that stage make it, in units of u sqrt(s):
///
///   layernorm  mean|d| for the mean, and the whole of 1 / sigma, each one error of the whole row; the other roundings
///              are no chains: at most u = u sqrt(s) / 8, because plans state s >= 64
///   product    |w a|_2: the partial sums of terms with random signs are no larger, so s roundings of them are u
///              sqrt(s) |w a|_2. A matrix unit truncates relative to the largest product of a slice, which is in the
///              same norm
///   attention  |q k|_2 for a score, (|s - M| + 4) / 8 for a weight, 1 for the sum of the weights, sum p|v| for a mean
///   others     |h| / 2 for gelu, |a + b| / 8 for a residual
///
/// The root mean square of the changes of a row of y is the estimate of sqrt(sum c_i^2) for its elements. It counts
/// twice, for the error of the estimate and for elements above the mean.
///
/// Other data get eight times the estimate, if that is less than S: s u 8 |w a|_2 >= 8 u sqrt(s) sum |w a| for chains s
/// of all k terms. So sums of one sign are covered, too, but not roundings that all have the same sign.
///
/// The estimate counts only if all values of a row's stages and all weights are below 2^40, so that nothing overflows.
///
/// Rows that round the factors of their products to bfloat16 have bounds of their own. The oracle computes the block
/// once more, in double, with each factor rounded to 8 bits: rows of layernorm, q, k, v, the weights of keys, their
/// means, hidden units and all matrices. No linearisation and no independence enters: an error that all keys or all
/// outputs share is shared here, too. A row of y then changes by e_h. A variant's own changes differ from these,
/// because a factor that is near the middle of two numbers may be rounded the other way, and a weight is rounded
/// relative to another maximum; but they come from as many roundings of the same sizes. The error of an output is a sum
/// over its weights, so it grows with their norm |w_h|, and columns differ. In each row e is split into the part of a,
/// with the weights wo, and the part of the hidden units, with w2. The mean squares of e_h / |w_h| over the d columns
/// are A and B, and the bound is
///
///     C max(8 (1 + 8 / sqrt(d)) sqrt(A |wo_h|^2 + B |w2_h|^2), 2^-6 rms(y), 2 |e_h|).
///
/// Eight standard deviations are as for other rows. An estimate from d columns is below the variance by a part of the
/// order of 1 / sqrt(d). C = 1 / (1 - 8 r) covers errors that grow faster than their cause. r is the largest change D
/// of a score with a weight p above 2^-12, or sum p (e^D - 1), or rms(change of a row) / sigma in the second layernorm,
/// whichever is largest. Above r = 1/16 the row is not checked: with factors of 8 bits, large scores leave no result
/// known. For gelu, a change above 1/16 counts 1.13 times.
///
/// An element is not checked (scale infinity) if a value of its row, or of a row that it sees, is not finite, may
/// exceed the range, or has an error so large (G E > 1/2, G rms(D) > sigma / 10) that the lines above do not hold.
///
/// check() refuses integers; the reference accepts them because every dtype of a build needs a reference.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/core/random.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/product_sums.hpp>

namespace tessera::transformer_block {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, long double, double>;

double root_mean_square(double const* values, std::size_t count) {
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) squares += values[i] * values[i];
  return count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0;
}

// Returns the larger number; NaN if one is NaN. std::max would lose a NaN that comes second.
template <class W>
W larger(W a, W b) {
  return std::isnan(a) || a > b ? a : b;
}

constexpr int probes = 4;
constexpr double small = 0x1p-26;  // u sqrt(s) in the probes: their changes are linear

// Rounds to 8 significant bits, to nearest and ties to even. A compiler that contracts products would spoil Veltkamp's
// splitting.
double to_bfloat16(double x) {
  if (!std::isfinite(x)) return x;
  constexpr int dropped = 53 - 8;
  auto const bits = std::bit_cast<std::uint64_t>(x);
  std::uint64_t const rounded = bits + (std::uint64_t{1} << (dropped - 1)) - 1 + (bits >> dropped & 1);
  return std::bit_cast<double>(rounded >> dropped << dropped);
}
std::vector<double> to_bfloat16(std::vector<double> values) {
  for (double& value : values) value = to_bfloat16(value);
  return values;
}

// Signs of the errors in the probes.
class Signs {
 public:
  enum Stage : std::uint64_t { mean, deviation, normal, q, k, v, score, average, o, first, up, unit, down, second };

  Signs(Stage stage, std::uint64_t index) : bits_(random_bits(20, stage, index)) {}

  // Returns an error of this size, for one of 64 numbers.
  [[nodiscard]] double operator()(int which, double size) const {
    return bits_ >> which & 1 ? small * size : -small * size;
  }

 private:
  std::uint64_t bits_;
};

// Rows of a stage: values, their scales S, the values of the probes, and those with factors of bfloat16. `index`: of a
// row in x, for the signs.
template <bool has_short>
struct RowsOf {
  std::size_t count = 0;
  std::size_t cols = 0;
  std::vector<double> value;
  std::vector<double> scale;
  std::array<std::vector<double>, probes> probe;
  std::vector<double> short_value;  // with factors of bfloat16
  std::vector<std::size_t> index;
  std::vector<char> tame;  // whether all values so far are below 2^40, so that no product or square leaves the range
  std::vector<double> change;  // r in the comment above: the largest relative change by factors of bfloat16 so far

  RowsOf(std::vector<std::size_t> rows, std::size_t of_row)
      : count(rows.size()),
        cols(of_row),
        value(count * of_row),
        scale(count * of_row),
        short_value(has_short ? count * of_row : 0),
        index(std::move(rows)),
        tame(count, 1),
        change(count) {
    for (auto& values : probe) values.resize(count * of_row);
  }

  // Notes whether the row, and those before it in the computation, are tame, and the largest change before it.
  void note(std::size_t r, bool before, double change_before) {
    bool all = before;
    for (std::size_t i = r * cols; i < (r + 1) * cols; ++i) all = all && std::abs(value[i]) < 0x1p40;
    tame[r] = all ? 1 : 0;
    change[r] = larger(change[r], change_before);
  }
};

// A layer's weights, transposed to [k, n].
template <bool has_short>
struct Layer {
  Signs::Stage stage;
  std::size_t k;
  std::size_t n;
  verify::Factor w;
  std::vector<float> short_w;  // rounded to bfloat16
  std::vector<double> bias;
  std::vector<double> squares;  // of each output's weights
  double root;                  // of the weights' mean square
  bool tame = true;

  template <class Matrix, class Vector>
  Layer(Signs::Stage of, Matrix const& weights, Vector const& b)
      : stage(of), k(weights.extent(1)), n(weights.extent(0)), bias(n), squares(n) {
    w.resize(k * n, false);
    short_w.resize(has_short ? k * n : 0);
    for_blocks(n, 16, [&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t o = begin; o < end; ++o) {
        bias[o] = static_cast<double>(b(o));
        for (std::size_t h = 0; h < k; ++h) {
          auto const value = static_cast<double>(weights(o, h));
          w.set(h * n + o, value, verify::magnitude_of(value));
          squares[o] += value * value;
          if constexpr (has_short) short_w[h * n + o] = static_cast<float>(to_bfloat16(value));
        }
      }
    });
    root = root_mean_square(w.value.data(), k * n);
    for (double const weight : w.value) tame = tame && std::abs(weight) < 0x1p40;
  }

  // Multiplies rows of a by these weights.
  template <class Weights>
  void multiply(std::vector<double> const& a, Weights const& weights, std::size_t rows, std::vector<double>& c) const {
    constexpr std::size_t depth = 64;  // this many rows of w stay in the cache
    constexpr std::size_t width = 256;
    for_blocks(rows, 16, [&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) std::copy(bias.begin(), bias.end(), c.data() + r * n);
      for (std::size_t first = 0; first < n; first += width) {
        std::size_t const count = std::min(width, n - first);
        for (std::size_t h0 = 0; h0 < k; h0 += depth) {
          for (std::size_t r = begin; r < end; ++r) {
            double* const to = c.data() + r * n + first;
            for (std::size_t h = h0; h < std::min(k, h0 + depth); ++h)
              add(a[r * k + h], weights.data() + h * n + first, count, to);
          }
        }
      }
    });
  }

 private:
  template <class Weight>
  static void add(double a, Weight const* __restrict__ b, std::size_t count, double* __restrict__ sum) {
    for (std::size_t j = 0; j < count; ++j) sum[j] += a * b[j];
  }
};

template <class T>
class Oracle {
 public:
  using W = Wide<T>;
  using Input = InputOnHost<TransformerBlock, T>;
  static constexpr bool has_short = std::is_same_v<T, float>;  // rows with factors of bfloat16 take floats
  using Rows = RowsOf<has_short>;

  explicit Oracle(Input const& input)
      : in_(input),
        d_(input.d_model()),
        tokens_(input.tokens()),
        dim_(input.d_head()),
        growth_(growth(input)),
        q_(Signs::q, input.wq, input.bq),
        k_(Signs::k, input.wk, input.bk),
        v_(Signs::v, input.wv, input.bv),
        o_(Signs::o, input.wo, input.bo),
        up_(Signs::up, input.w1, input.b1),
        down_(Signs::down, input.w2, input.b2) {}

  // Computes rows of x, in ascending order and of one sequence, to `out` from element `at` on.
  void answer(std::vector<std::size_t> const& rows, ExpectedField& out, std::size_t at) const {
    std::size_t const first = rows.front() / tokens_ * tokens_;
    std::vector<std::size_t> seen(in_.parameters.causal ? rows.back() + 1 - first : tokens_);
    std::iota(seen.begin(), seen.end(), first);
    Rows const normal = normalise(inputs(seen), in_.gamma1, in_.beta1);
    Rows const keys = multiply(normal, k_);
    Rows const values = multiply(normal, v_);
    Turned const turned(keys);
    // Blocks of rows go through the other stages on all cores.
    constexpr std::size_t block = 32;
    for_blocks(rows.size(), block, [&](std::size_t, std::size_t begin, std::size_t end) {
      Rows const x =
          inputs({rows.begin() + static_cast<std::ptrdiff_t>(begin), rows.begin() + static_cast<std::ptrdiff_t>(end)});
      Rows const queries = multiply(normalise(x, in_.gamma1, in_.beta1), q_);
      Rows mean(x.index, d_);
      for (std::size_t r = 0; r < x.count; ++r) attend(queries, r, x.index[r] - first, turned, keys, values, mean);
      Rows const a = add(x, multiply(mean, o_), Signs::first);
      Rows hidden = multiply(normalise(a, in_.gamma2, in_.beta2), up_);
      gelu(hidden);
      Rows const y = add(a, multiply(hidden, down_), Signs::second);
      std::vector<double> const changes = changes_of(y);
      for (std::size_t i = 0; i < y.value.size(); ++i) {
        std::size_t const to = at + begin * d_ + i;
        out.value[to] = y.value[i];
        bool const tame = y.tame[i / d_] != 0 && is_known(y.value[i], changes[i / d_]);
        double const estimate = tame ? changes[i / d_] : infinity;
        double const always = is_known(y.value[i], y.scale[i]) ? y.scale[i] : infinity;
        out.scale[to] = std::min(always, 8 * estimate);
        out.random_scale[to] = estimate;
      }
      if constexpr (has_short) bound_short(a, y, out, at + begin * d_);
    });
  }

 private:
  static constexpr bool twice = std::is_same_v<T, double>;
  static constexpr auto largest = static_cast<double>(std::numeric_limits<T>::max());

  // The keys' columns, one after the other, so that the compiler vectorises over keys.
  struct Turned {
    std::vector<double> value;
    std::vector<double> scale;
    std::array<std::vector<double>, probes> probe;
    std::vector<double> short_value;  // rounded to bfloat16

    explicit Turned(Rows const& rows) {
      if constexpr (has_short) turn(rows, to_bfloat16(rows.short_value), short_value);
      turn(rows, rows.value, value);
      turn(rows, rows.scale, scale);
      for (int p = 0; p < probes; ++p) turn(rows, rows.probe[p], probe[p]);
    }
    static void turn(Rows const& rows, std::vector<double> const& from, std::vector<double>& to) {
      to.resize(from.size());
      for_blocks(rows.cols, 16, [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t j = 0; j < rows.count; ++j) {
          for (std::size_t c = begin; c < end; ++c) to[c * rows.count + j] = from[j * rows.cols + c];
        }
      });
    }
  };

  // The bound of (1 + u)^s - 1 for the longest chain, and for the errors of rows on matrix units: eight times 57 u.
  [[nodiscard]] static double growth(Input const& input) {
    return std::expm1((TransformerBlock::rounding_steps(shapes_of(input), input.parameters) + 8 * 57) * unit());
  }
  [[nodiscard]] static std::vector<Shape> shapes_of(Input const& input) {
    return TransformerBlock::shapes(input.sequences(), input.tokens(), input.d_model(), input.d_ff());
  }
  [[nodiscard]] static double unit() { return unit_roundoff(dtype_of<T>); }
  // Results below the normal range lose a denormal per step.
  [[nodiscard]] static double tiny() {
    return std::is_integral_v<T> ? 0.0 : static_cast<double>(std::numeric_limits<T>::denorm_min()) / unit();
  }
  [[nodiscard]] bool is_known(double value, double scale) const {
    return std::isfinite(value) && std::abs(value) + growth_ * scale <= largest;
  }

  [[nodiscard]] Rows inputs(std::vector<std::size_t> const& index) const {
    Rows rows(index, d_);
    for (std::size_t r = 0; r < rows.count; ++r) {
      for (std::size_t h = 0; h < d_; ++h) {
        rows.value[r * d_ + h] = static_cast<double>(in_.x(index[r] / tokens_, index[r] % tokens_, h));
      }
    }
    rows.probe.fill(rows.value);
    if constexpr (has_short) rows.short_value = rows.value;
    for (std::size_t r = 0; r < rows.count; ++r) rows.note(r, true, 0);
    return rows;
  }

  // Twice the root mean square of the probes' changes in each row.
  [[nodiscard]] std::vector<double> changes_of(Rows const& y) const {
    std::vector<double> changes(y.count);
    for (std::size_t r = 0; r < y.count; ++r) {
      for (std::vector<double> const& probe : y.probe) {
        for (std::size_t i = r * d_; i < (r + 1) * d_; ++i) {
          double const change = (probe[i] - y.value[i]) / small;
          changes[r] += change * change / (probes * static_cast<double>(d_));
        }
      }
      changes[r] = 2 * std::sqrt(changes[r]);
    }
    return changes;
  }

  // The bounds of rows with factors of bfloat16. `a`: the block's first half.
  void bound_short(Rows const& a, Rows const& y, ExpectedField& out, std::size_t at) const {
    std::vector<double> first(d_);
    std::vector<double> second(d_);
    for (std::size_t r = 0; r < y.count; ++r) {
      for (std::size_t h = 0; h < d_; ++h) {
        std::size_t const i = r * d_ + h;
        first[h] = a.short_value[i] - a.value[i];
        second[h] = y.short_value[i] - y.value[i] - first[h];
      }
      double const of_first = per_weight(first, o_.squares);
      double const of_second = per_weight(second, down_.squares);
      double const least = 0x1p-9 * root_mean_square(y.value.data() + r * d_, d_);
      for (std::size_t h = 0; h < d_; ++h) {
        std::size_t const to = at + r * d_ + h;
        double const size = larger(std::sqrt(of_first * o_.squares[h] + of_second * down_.squares[h]), least);
        double const bound = larger(8 * size, 2 * std::abs(first[h] + second[h]));
        bool const known = y.tame[r] != 0 && y.change[r] <= 1. / 16 && std::isfinite(bound);
        out.bfloat16_scale[to] = out.random_scale[to];
        out.bfloat16_offset[to] = known ? bound / (1 - 8 * y.change[r]) : infinity;
      }
    }
  }
  // The mean square of a row's changes, each in units of the norm of its weights, with the excess for few columns.
  [[nodiscard]] static double per_weight(std::vector<double> const& changes, std::vector<double> const& squares) {
    double sum = 0;
    double columns = 0;
    for (std::size_t h = 0; h < changes.size(); ++h) {
      if (squares[h] == 0) continue;
      sum += changes[h] * changes[h] / squares[h];
      ++columns;
    }
    double const excess = 1 + 8 / std::sqrt(std::max(columns, 1.0));
    return excess * excess * sum / std::max(columns, 1.0);
  }

  // The rows' layernorm.
  template <class Vector>
  [[nodiscard]] Rows normalise(Rows const& rows, Vector const& gamma, Vector const& beta) const {
    Rows result(rows.index, d_);
    for_blocks(rows.count, 16, [&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) normalise_row(rows, r, gamma, beta, result);
    });
    return result;
  }

  template <class Vector>
  void normalise_row(Rows const& rows, std::size_t r, Vector const& gamma, Vector const& beta, Rows& result) const {
    double const* const x = rows.value.data() + r * d_;
    double const* const s = rows.scale.data() + r * d_;
    auto const n = static_cast<W>(d_);
    W sum = 0;
    double distances = 0;
    double scales = 0;
    for (std::size_t h = 0; h < d_; ++h) {
      W const distance = static_cast<W>(x[h]) - static_cast<W>(x[0]);
      sum += distance;
      distances += std::abs(static_cast<double>(distance));
      scales += s[h];
    }
    W const mean = sum / n;
    distances /= static_cast<double>(d_);
    scales /= static_cast<double>(d_);
    // E of normalised_rows.hpp. Distances of a row with errors are larger by them.
    std::vector<double> error(d_);
    W squares = 0;
    double error_squares = 0;
    double widest = 0;
    for (std::size_t h = 0; h < d_; ++h) {
      W const distance = static_cast<W>(x[h]) - static_cast<W>(x[0]);
      W const e = distance - mean;
      squares += e * e;
      error[h] = std::abs(static_cast<double>(distance)) + distances + std::abs(static_cast<double>(e)) +
                 4 * growth_ * (s[h] + s[0] + scales);
      if (error[h] > 0) error[h] += 2 * tiny();
      error_squares += error[h] * error[h];
      widest = larger(widest, error[h]);
    }
    auto const v = static_cast<double>(squares / n);
    double const m = error_squares / static_cast<double>(d_);
    W const w = squares / n + static_cast<W>(static_cast<T>(in_.parameters.eps));
    auto const sigma = static_cast<double>(std::sqrt(w));
    double const of_w = (2 * std::sqrt(v * m) + growth_ * m + v + 2 * tiny()) / static_cast<double>(w) + 1;
    double const of_root = 0.6 * of_w + 3;
    double const entered = root_mean_square(s, d_) / sigma;
    bool const bounded = growth_ * of_w <= 0.1 && 2 * widest <= largest &&
                         1 / sigma >= static_cast<double>(std::is_integral_v<T> ? T(0) : std::numeric_limits<T>::min());
    bool const known = bounded && growth_ * entered <= 0.1;
    for (std::size_t h = 0; h < d_; ++h) {
      auto const of_gamma = static_cast<double>(gamma(h));
      auto const of_beta = static_cast<double>(beta(h));
      W const xhat = (static_cast<W>(x[h]) - static_cast<W>(x[0]) - mean) / std::sqrt(w);
      double const size = std::abs(static_cast<double>(xhat));
      double const moved = (s[h] + scales + size * entered * sigma) / sigma / (1 - std::min(0.1, growth_ * entered));
      double const own =
          std::abs(of_gamma) * (1.25 * (error[h] / sigma + size * of_root) + size) + std::abs(of_beta) + tiny();
      result.value[r * d_ + h] = static_cast<double>(static_cast<W>(gamma(h)) * xhat + static_cast<W>(beta(h)));
      result.scale[r * d_ + h] = known ? own + std::abs(of_gamma) * moved : infinity;
    }
    result.note(r, rows.tame[r] != 0, rows.change[r]);
    if constexpr (has_short) normalise_short(rows, r, sigma, gamma, beta, result);
    Signs const of_mean(Signs::mean, rows.index[r] * 2 + (gamma.data() == in_.gamma2.data()));
    Signs const of_deviation(Signs::deviation, rows.index[r] * 2 + (gamma.data() == in_.gamma2.data()));
    for (int p = 0; p < probes; ++p) {
      double const* const changed = rows.probe[p].data() + r * d_;
      double probe_mean = 0;
      double probe_squares = 0;
      for (std::size_t h = 0; h < d_; ++h) probe_mean += (changed[h] - changed[0]) / static_cast<double>(d_);
      probe_mean += changed[0] + of_mean(p, distances);
      for (std::size_t h = 0; h < d_; ++h) probe_squares += (changed[h] - probe_mean) * (changed[h] - probe_mean);
      double const inverse = (1 + of_deviation(p, 1)) / std::sqrt(probe_squares / static_cast<double>(d_) +
                                                                  static_cast<double>(in_.parameters.eps));
      for (std::size_t h = 0; h < d_; ++h) {
        double const xhat = (changed[h] - probe_mean) * inverse;
        double const size = std::abs(changed[h] - changed[0]) * inverse + 7 * std::abs(xhat);
        result.probe[p][r * d_ + h] =
            static_cast<double>(gamma(h)) * (xhat + Signs(Signs::normal, rows.index[r] * d_ + h)(p, size / 8)) +
            static_cast<double>(beta(h));
      }
    }
  }

  template <class Vector>
  void normalise_short(Rows const& rows, std::size_t r, double sigma, Vector const& gamma, Vector const& beta,
                       Rows& result) const {
    double const* const x = rows.short_value.data() + r * d_;
    double mean = 0;
    double squares = 0;
    std::vector<double> changes(d_);
    for (std::size_t h = 0; h < d_; ++h) {
      mean += (x[h] - x[0]) / static_cast<double>(d_);
      changes[h] = x[h] - rows.value[r * d_ + h];
    }
    mean += x[0];
    for (std::size_t h = 0; h < d_; ++h) squares += (x[h] - mean) * (x[h] - mean);
    double const inverse = 1 / std::sqrt(squares / static_cast<double>(d_) + static_cast<double>(in_.parameters.eps));
    for (std::size_t h = 0; h < d_; ++h) {
      result.short_value[r * d_ + h] =
          static_cast<double>(gamma(h)) * ((x[h] - mean) * inverse) + static_cast<double>(beta(h));
    }
    result.change[r] = larger(result.change[r], root_mean_square(changes.data(), d_) / sigma);
  }

  // The rows through a layer.
  [[nodiscard]] Rows multiply(Rows const& rows, Layer<has_short> const& layer) const {
    Rows result(rows.index, layer.n);
    verify::Factor a;
    a.resize(rows.count * layer.k, false);
    for (std::size_t i = 0; i < rows.value.size(); ++i) {
      a.set(i, rows.value[i], rows.scale[i] * (1 + growth_) + verify::magnitude_of(rows.value[i]) + tiny());
    }
    verify::ProductSums sums(rows.count, layer.n, twice, true);
    sums.add(a, layer.w, layer.k);
    for (int p = 0; p < probes; ++p) layer.multiply(rows.probe[p], layer.w.value, rows.count, result.probe[p]);
    if constexpr (has_short) {
      layer.multiply(to_bfloat16(rows.short_value), layer.short_w, rows.count, result.short_value);
    }
    for (std::size_t r = 0; r < rows.count; ++r) {
      double const root =
          root_mean_square(rows.value.data() + r * layer.k, layer.k) * std::sqrt(static_cast<double>(layer.k));
      for (std::size_t o = 0; o < layer.n; ++o) {
        std::size_t const i = r * layer.n + o;
        double const bias = std::abs(layer.bias[o]);
        result.value[i] = sums.value(i) + layer.bias[o];
        result.scale[i] = sums.scale(i) + bias + static_cast<double>(layer.k) * tiny();
        if (!(result.scale[i] <= largest)) result.scale[i] = infinity;  // partial sums may leave the range
        Signs const signs(layer.stage, rows.index[r] * layer.n + o);
        for (int p = 0; p < probes; ++p) result.probe[p][i] += signs(p, layer.root * root + bias / 8);
      }
      result.note(r, rows.tame[r] != 0 && layer.tame, rows.change[r]);
    }
    return result;
  }

  // The attention of one query to row `r` of `mean`.
  void attend(Rows const& queries, std::size_t r, std::size_t token, Turned const& turned, Rows const& keys,
              Rows const& values, Rows& mean) const {
    std::size_t const n = keys.count;
    std::size_t const end = in_.parameters.causal ? token + 1 : n;
    auto const scale = static_cast<W>(in_.score_scale());
    auto const size = static_cast<double>(scale);
    std::vector<W> weight(end);
    std::vector<W> score;
    std::vector<double> error(end);
    std::vector<W> sum(dim_);
    std::vector<double> moved(dim_);
    std::vector<double> added(dim_);
    for (std::size_t head = 0; head < d_ / dim_; ++head) {
      std::size_t const first = head * dim_;
      double const* const q = queries.value.data() + r * d_ + first;
      double const* const of_q = queries.scale.data() + r * d_ + first;
      std::fill(weight.begin(), weight.end(), W(0));
      std::fill(error.begin(), error.end(), 0.0);
      for (std::size_t c = 0; c < dim_; ++c) {
        double const* const k = turned.value.data() + (first + c) * n;
        double const* const of_k = turned.scale.data() + (first + c) * n;
        W const factor = q[c];
        double const both = of_q[c] + std::abs(q[c]);
        double const other = std::abs(q[c]) + growth_ * of_q[c];
        for (std::size_t j = 0; j < end; ++j) {
          weight[j] += factor * k[j];
          error[j] += both * std::abs(k[j]) + other * of_k[j];
        }
      }
      W most = -std::numeric_limits<W>::infinity();
      for (std::size_t j = 0; j < end; ++j) {
        weight[j] *= scale;
        most = larger(most, weight[j]);
      }
      if constexpr (has_short) score = weight;
      W total = 0;
      for (std::size_t j = 0; j < end; ++j) {
        W const below = weight[j] - most;
        double const always = size * (error[j] + static_cast<double>(dim_) * tiny()) + static_cast<double>(-below) + 4;
        error[j] = std::expm1(std::min(growth_ * always, 700.0)) / growth_;
        weight[j] = std::exp(below);
        total += weight[j];
      }
      std::fill(sum.begin(), sum.end(), W(0));
      double all = 0;
      for (std::size_t j = 0; j < end; ++j) {
        weight[j] /= total;
        all += static_cast<double>(weight[j]) * error[j];
        double const* const value = values.value.data() + j * d_ + first;
        for (std::size_t c = 0; c < dim_; ++c) sum[c] += weight[j] * value[c];
      }
      std::fill(moved.begin(), moved.end(), 0.0);
      std::fill(added.begin(), added.end(), 0.0);
      for (std::size_t j = 0; j < end; ++j) {
        auto const p = static_cast<double>(weight[j]);
        double const more = p * (1 + growth_ * error[j]);
        double const* const value = values.value.data() + j * d_ + first;
        double const* const of_value = values.scale.data() + j * d_ + first;
        for (std::size_t c = 0; c < dim_; ++c) {
          moved[c] += p * error[j] * std::abs(value[c] - static_cast<double>(sum[c]));
          added[c] += more * (of_value[c] + std::abs(value[c]) + tiny());
        }
      }
      double const rest = 1 - growth_ * all;
      for (std::size_t c = 0; c < dim_; ++c) {
        std::size_t const i = r * d_ + first + c;
        mean.value[i] = static_cast<double>(sum[c]);
        mean.scale[i] = rest >= 0.5 ? (moved[c] + added[c]) / rest + std::abs(mean.value[i]) : infinity;
      }
      for (int p = 0; p < probes; ++p) attend_probe(p, queries, r, head, end, turned, values, mean);
      if constexpr (has_short) attend_short(queries, r, head, score, weight, turned, values, mean);
    }
    bool tame = queries.tame[r] != 0;
    for (std::size_t j = 0; j < end; ++j) tame = tame && keys.tame[j] != 0 && values.tame[j] != 0;
    mean.note(r, tame, queries.change[r]);
  }

  // The same for a head with factors of bfloat16. `score`, `share`: the exact scores and weights.
  void attend_short(Rows const& queries, std::size_t r, std::size_t head, std::vector<W> const& score,
                    std::vector<W> const& share, Turned const& turned, Rows const& values, Rows& mean) const {
    std::size_t const n = values.count;
    std::size_t const first = head * dim_;
    std::vector<double> weight(score.size());
    for (std::size_t c = first; c < first + dim_; ++c) {
      double const q = to_bfloat16(queries.short_value[r * d_ + c]);
      double const* const k = turned.short_value.data() + c * n;
      for (std::size_t j = 0; j < weight.size(); ++j) weight[j] += q * k[j];
    }
    double most = -infinity;
    double of_all = 0;
    for (std::size_t j = 0; j < weight.size(); ++j) {
      weight[j] *= in_.score_scale();
      most = larger(most, weight[j]);
      double const change = std::abs(weight[j] - static_cast<double>(score[j]));
      if (share[j] > W(0x1p-12)) mean.change[r] = larger(mean.change[r], change);
      of_all += static_cast<double>(share[j]) * std::expm1(change);
    }
    mean.change[r] = larger(mean.change[r], of_all);
    double total = 0;
    std::vector<double> sum(dim_);
    for (std::size_t j = 0; j < weight.size(); ++j) {
      weight[j] = to_bfloat16(std::exp(weight[j] - most));
      total += weight[j];
      double const* const v = values.short_value.data() + j * d_ + first;
      for (std::size_t c = 0; c < dim_; ++c) sum[c] += weight[j] * to_bfloat16(v[c]);
    }
    for (std::size_t c = 0; c < dim_; ++c) mean.short_value[r * d_ + first + c] = sum[c] / total;
  }

  // The same for a probe of a head.
  void attend_probe(int p, Rows const& queries, std::size_t r, std::size_t head, std::size_t end, Turned const& turned,
                    Rows const& values, Rows& mean) const {
    std::size_t const n = values.count;
    std::size_t const first = head * dim_;
    double const scale = in_.score_scale();
    double const* const q = queries.probe[p].data() + r * d_ + first;
    std::vector<double> weight(end);
    std::vector<double> squares(end);
    for (std::size_t c = 0; c < dim_; ++c) {
      double const* const k = turned.probe[p].data() + (first + c) * n;
      for (std::size_t j = 0; j < end; ++j) {
        double const product = q[c] * k[j];
        weight[j] += product;
        squares[j] += product * product;
      }
    }
    std::size_t const index = queries.index[r] * (d_ / dim_) + head;
    double most = -infinity;
    for (std::size_t j = 0; j < end; ++j) {
      Signs const signs(Signs::score, index * tokens_ + j);
      weight[j] = scale * (weight[j] + signs(p, std::sqrt(squares[j])));
      most = larger(most, weight[j]);
    }
    double total = 0;
    std::vector<double> sum(dim_);
    std::vector<double> magnitude(dim_);
    for (std::size_t j = 0; j < end; ++j) {
      double const below = weight[j] - most;
      weight[j] = std::exp(below) * (1 + Signs(Signs::score, index * tokens_ + j)(32 + p, (4 - below) / 8));
      total += weight[j];
      double const* const v = values.probe[p].data() + j * d_ + first;
      for (std::size_t c = 0; c < dim_; ++c) {
        sum[c] += weight[j] * v[c];
        magnitude[c] += weight[j] * std::abs(v[c]);
      }
    }
    total *= 1 + Signs(Signs::average, index)(p, 1);
    for (std::size_t c = 0; c < dim_; ++c) {
      std::size_t const i = r * d_ + first + c;
      Signs const signs(Signs::average, queries.index[r] * d_ + first + c);
      mean.probe[p][i] = (sum[c] + signs(32 + p, magnitude[c])) / total;
    }
  }

  static void gelu(Rows& rows) {
    auto const of = [](auto h) { return h * std::erfc(-h / std::sqrt(decltype(h)(2))) / 2; };
    for (std::size_t i = 0; i < rows.value.size(); ++i) {
      W const h = rows.value[i];
      double const magnitude = std::abs(rows.value[i]);
      rows.value[i] = static_cast<double>(of(h));
      rows.scale[i] = 1.13 * rows.scale[i] + magnitude;
      Signs const signs(Signs::unit, rows.index[i / rows.cols] * rows.cols + i % rows.cols);
      for (int p = 0; p < probes; ++p) rows.probe[p][i] = of(rows.probe[p][i]) + signs(p, magnitude / 2);
      if constexpr (has_short) {
        double const change = rows.short_value[i] - static_cast<double>(h);
        rows.short_value[i] = std::abs(change) <= 1. / 16 ? of(rows.short_value[i]) : rows.value[i] + 1.13 * change;
      }
    }
  }

  [[nodiscard]] static Rows add(Rows const& a, Rows const& b, Signs::Stage stage) {
    Rows result(a.index, a.cols);
    for (std::size_t i = 0; i < a.value.size(); ++i) {
      result.value[i] = a.value[i] + b.value[i];
      double const magnitude = std::abs(result.value[i]);
      result.scale[i] = a.scale[i] + b.scale[i] + magnitude;
      Signs const signs(stage, a.index[i / a.cols] * a.cols + i % a.cols);
      for (int p = 0; p < probes; ++p) result.probe[p][i] = a.probe[p][i] + b.probe[p][i] + signs(p, magnitude / 8);
      if constexpr (has_short) result.short_value[i] = a.short_value[i] + b.short_value[i];
    }
    for (std::size_t r = 0; r < a.count; ++r) {
      result.note(r, a.tame[r] != 0 && b.tame[r] != 0, larger(a.change[r], b.change[r]));
    }
    return result;
  }

  Input const& in_;
  std::size_t d_;
  std::size_t tokens_;
  std::size_t dim_;
  double growth_;
  Layer<has_short> q_;
  Layer<has_short> k_;
  Layer<has_short> v_;
  Layer<has_short> o_;
  Layer<has_short> up_;
  Layer<has_short> down_;
};

}  // namespace

template <class T>
ExpectedField TransformerBlock::reference_of_rows(Input<T, Kokkos::HostSpace> const& input,
                                                  std::vector<std::size_t> const& rows) {
  std::size_t const d = input.d_model();
  ExpectedField y = zero_field("y", {rows.size(), d}, true);
  y.random_scale = y.scale;
  if (Oracle<T>::has_short) y.bfloat16_scale = y.bfloat16_offset = y.scale;
  if (rows.empty()) return y;
  Oracle<T> const oracle(input);
  std::size_t const tokens = input.tokens();
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    while (end < rows.size() && rows[end] / tokens == rows[first] / tokens) ++end;
    oracle.answer({rows.begin() + static_cast<std::ptrdiff_t>(first), rows.begin() + static_cast<std::ptrdiff_t>(end)},
                  y, first * d);
  }
  return y;
}

template <class T>
std::vector<ExpectedField> TransformerBlock::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::vector<std::size_t> rows(input.rows());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  ExpectedField y = reference_of_rows<T>(input, rows);
  y.shape = {input.sequences(), input.tokens(), input.d_model()};
  return list_of(std::move(y));
}

}  // namespace tessera::transformer_block

template struct tessera::References<tessera::transformer_block::TransformerBlock>;
