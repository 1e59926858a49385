/// \file
/// The serial oracle of layernorm_linear_backward: a block of rows at a time, normalised in long double; products in
/// double (in twice double precision if the dtype is double), sums of columns in long double.
///
/// Error bound. With g = (1 + u)^s - 1, s the longest chain of roundings to any gradient of the variant, G = grad_y, p
/// = gamma q, and all terms as magnitudes:
///
///     |error of xhat|   <= g X,  |error of inv_std| <= g I             (verify/normalised_rows.hpp)
///     |error of ln|     <= g L,  L = |gamma| (X + |xhat|) + |beta|
///     |error of dbias|  <= g sum_r |G|                             (0 where verify/grid.hpp proves all sums exact)
///     |error of dw|     <= g sum_r |G| (L + |ln|)
///     |error of q|      <= g Q,  Q = sum_o |G w|, at least |q|
///     |error of dbeta|  <= g sum_r (Q + |q|)
///     |error of dgamma| <= g sum_r (C + |q xhat|),  C = |q| X + Q (|xhat| + m X)
///     |error of p|      <= g P,  P = |gamma| (Q + |q|)
///     |error of mean p| <= g A,  A = mean_h(P + |p|)
///     |error of mean(p xhat)| <= g B,  B = mean_h(|p| X + P (|xhat| + m X) + 2 |p xhat|)
///     |error of dx|     <= g (inv_std D + I (|dx| / inv_std + m D)),  N = |p| + |mean p| + |xhat mean(p xhat)|,
///                          D = P + A + |xhat| B + X (|mean(p xhat)| + m B) + 4 N
///
/// with m the g of the longest chain of any variant, so that products of two errors, g^2, are at most g m. The bounds
/// hold because s counts the steps of each chain, and (1 + a)(1 + b) - 1 bounds an error a followed by an error b
/// (Higham, Accuracy and Stability of Numerical Algorithms, 3.1). Nothing is checked if m > 1. A product that
/// underflows loses a denormal, which is added to Q, C, D and the sums, in units of u, unless a factor is exactly 0. If
/// all terms are 0, so is the result (no outputs, no rows, rows of one column). An element is not checked if its
/// magnitudes exceed the dtype's range, or if it depends on a row that is not known or on an infinity times a number of
/// unknown sign.
///
/// Sums over rows of random data have a second bound (verify/verify.hpp): a row's sign is the sign of its gradients,
/// which are drawn with both signs equally likely, and a row's arithmetic does not depend on this sign. S is the root
/// of the sum of squares of the rows' errors:
///
///     dbeta   S^2 = sum_r Q^2,  and the sum itself loses   g sum_r (|q| + m Q)
///     dgamma  S^2 = sum_r C^2                              g sum_r (|q xhat| + m C)
///     dw      S^4 <= sum_r G^4 sum_r L^4                   g sqrt(sum_r G^2 sum_r (|ln| + m L)^2)
///
/// The last line uses Cauchy and Schwarz, and so needs sums of columns instead of two more products.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

#include "problem.hpp"

#include <tessera/table/references.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/normalised_rows.hpp>
#include <tessera/verify/product_sums.hpp>

namespace tessera::layernorm_linear_backward {

namespace {

using verify::magnitude_of;

constexpr double infinity = std::numeric_limits<double>::infinity();

double magnitude_of_wide(long double value) { return magnitude_of(static_cast<double>(value)); }

// A column's sum and scale over the rows so far.
struct Column {
  long double value = 0;
  double scale = 0;
  double own = 0;      // error of the sum itself: see "random data" above
  double squares = 0;  // sum of squares of the rows' errors
  bool known = true;
};
// Sums over a factor's column, for the bound of products over rows.
struct Powers {
  double squares = 0;
  double fourth = 0;

  void add(double of_squares, double of_fourth) {
    squares += of_squares * of_squares;
    fourth += of_fourth * of_fourth * of_fourth * of_fourth;
  }
};
// An element of a row that both of its sweeps need.
struct Element {
  long double xhat;
  double x_scale;
  bool sure_xhat;
  long double p;
  double p_scale;
};

// From this number of rows on, the root of a sum of squares is far below the sum.
constexpr std::size_t many_rows = 65;

template <class T>
class Oracle {
 public:
  using Input = LayernormLinearBackward::Input<T, Kokkos::HostSpace>;

  explicit Oracle(Input const& input)
      : in_(input),
        rows_(input.rows()),
        hidden_(input.hidden()),
        outputs_(input.outputs()),
        longest_(LayernormLinearBackward::rounding_steps({{rows_, hidden_}, {}, {}, {outputs_, hidden_}, {}},
                                                         input.parameters)),
        growth_(std::expm1(longest_ * unit_)),
        row_(hidden_, input.parameters.eps, longest_),
        elements_(hidden_),
        dx_(zero_field("dx", {rows_, hidden_}, true)),
        dgamma_(hidden_),
        dbeta_(hidden_),
        dbias_(outputs_),
        dw_(outputs_, hidden_, twice, true),
        powers_of_grad_(outputs_),
        powers_of_ln_(hidden_),
        known_ln_(hidden_, 1),
        sign_known_ln_(hidden_, 1) {}

  [[nodiscard]] std::vector<ExpectedField> run() {
    verify::Factor const w = verify::factor_of(in_.w.data(), outputs_, hidden_, hidden_);
    constexpr std::size_t block = 128;
    for (std::size_t first = 0; first < rows_; first += block) {
      std::size_t const count = std::min(block, rows_ - first);
      verify::Factor const grad = verify::factor_of(in_.grad_y.data() + first * outputs_, count, outputs_, outputs_);
      verify::Factor transposed;  // [outputs, count]
      verify::Factor ln;          // [count, hidden]
      transposed.resize(outputs_ * count, false);
      ln.resize(count * hidden_, twice);
      for (std::size_t r = 0; r < count; ++r) {
        for (std::size_t o = 0; o < outputs_; ++o) {
          double const value = grad.value[r * outputs_ + o];
          transposed.set(o * count + r, value, magnitude_of(value));
          dbias_[o].value += static_cast<long double>(value);
          dbias_[o].scale += magnitude_of(value);
          powers_of_grad_[o].add(magnitude_of(value), magnitude_of(value));
          grad_grid_.add(value);
          has_infinite_grad_ = has_infinite_grad_ || std::isinf(value);
        }
      }
      verify::ProductSums q(count, hidden_, twice, true);
      q.add(grad, w, outputs_);
      for (std::size_t r = 0; r < count; ++r) take_row(first + r, q, r, ln);
      dw_.add(transposed, ln, count);
    }
    return results();
  }

 private:
  static constexpr bool twice = std::is_same_v<T, double>;
  static constexpr double unit_ = unit_roundoff(dtype_of<T>);
  static constexpr double denormal_ = static_cast<double>(std::numeric_limits<T>::denorm_min()) / unit_;
  static constexpr double largest_ = static_cast<double>(std::numeric_limits<T>::max());

  // Returns whether the sign of a number with an error of `error` is known, or the number is NaN.
  [[nodiscard]] bool is_sure(double value, double error) const {
    return std::isnan(value) || std::abs(value) > growth_ * error;
  }

  // Returns whether a finite number stays finite in every variant.
  [[nodiscard]] bool fits(double value, double error) const {
    return !std::isfinite(value) || std::abs(value) + growth_ * error <= largest_;
  }

  void take_row(std::size_t row, verify::ProductSums const& sums, std::size_t r, verify::Factor& ln) {
    row_.take(&in_.x(row, 0));
    bool known = row_.known;
    auto const count = static_cast<long double>(hidden_);
    long double mean_p = 0;
    long double mean_px = 0;
    double a = 0;
    double b = 0;
    for (std::size_t h = 0; h < hidden_; ++h) {
      auto const gamma = static_cast<long double>(in_.gamma(h));
      double const of_gamma = magnitude_of_wide(gamma);
      long double const xhat = row_.xhat(h);
      double const of_xhat = magnitude_of_wide(xhat);
      auto const rounded_xhat = static_cast<double>(xhat);
      double const x_scale = row_.scale(h, rounded_xhat);
      bool const sure_xhat = row_.sign_is_known(h, rounded_xhat);

      long double const value = gamma * xhat + static_cast<long double>(in_.beta(h));
      double const ln_scale =
          of_gamma * (x_scale + of_xhat) + magnitude_of(static_cast<double>(in_.beta(h))) + denormal_;
      ln.set(r * hidden_ + h, value, ln_scale + magnitude_of_wide(value));
      powers_of_ln_[h].add(magnitude_of_wide(value) + growth_ * ln_scale, ln_scale);
      bool const known_ln =
          row_.known && (sure_xhat || !std::isinf(gamma)) && fits(static_cast<double>(value), ln_scale);
      if (!known_ln) known_ln_[h] = 0;
      if (!is_sure(static_cast<double>(value), ln_scale)) sign_known_ln_[h] = 0;

      auto const q = static_cast<long double>(sums.value(r * hidden_ + h));
      double const of_q = magnitude_of_wide(q);
      double const q_scale = scale_of_q(sums, r * hidden_ + h);
      bool const no_term = (of_q == 0 && q_scale == 0) || (of_xhat == 0 && x_scale == 0);
      double const c = of_q * x_scale + q_scale * (of_xhat + growth_ * x_scale) + (no_term ? 0 : denormal_);
      bool const known_q = q_scale <= largest_;
      add_to(dbeta_[h], q, q_scale, known_q);
      add_to(dgamma_[h], q * xhat, c, known_q && row_.known && (sure_xhat || !std::isinf(q)));

      long double const p = q * gamma;
      double const of_p = magnitude_of_wide(p);
      double const p_scale = scale_of_p(of_gamma, of_q, q_scale);
      mean_p += p;
      mean_px += p * xhat;
      a += p_scale + of_p;
      b += of_p * x_scale + p_scale * (of_xhat + growth_ * x_scale) + 2 * magnitude_of_wide(p * xhat) +
           (of_p + p_scale > 0 ? (1 + of_gamma) * denormal_ : 0);
      known = known && known_q && (is_sure(static_cast<double>(q), q_scale) || !std::isinf(gamma)) &&
              (sure_xhat || !std::isinf(p));
      elements_[h] = {xhat, x_scale, sure_xhat, p, p_scale};
    }
    mean_p /= count;
    mean_px /= count;
    known = known && a <= largest_ && b <= largest_;
    a /= static_cast<double>(hidden_);
    b /= static_cast<double>(hidden_);
    auto const inv_std = static_cast<double>(row_.inv_std);
    for (std::size_t h = 0; h < hidden_; ++h) {
      auto const& [xhat, x_scale, sure_xhat, p, p_scale] = elements_[h];
      double const n = magnitude_of_wide(p) + magnitude_of_wide(mean_p) + magnitude_of_wide(xhat * mean_px);
      bool const all_zero = p_scale + a + b == 0;  // then all gradients of the row are 0
      double const d = p_scale + a + magnitude_of_wide(xhat) * b +
                       x_scale * (magnitude_of_wide(mean_px) + growth_ * b) + 4 * n + (all_zero ? 0 : denormal_);
      double const of_difference = magnitude_of_wide(p - mean_p - xhat * mean_px);
      double const scale = magnitude_of(inv_std) * d +
                           magnitude_of(row_.inv_std_scale) * (of_difference + growth_ * d) +
                           (all_zero ? 0 : denormal_);
      std::size_t const i = row * hidden_ + h;
      dx_.value[i] = static_cast<double>(row_.inv_std * (p - mean_p - xhat * mean_px));
      bool const sure = sure_xhat || !std::isinf(mean_px);
      dx_.scale[i] = known && sure && scale <= largest_ && d <= largest_ && growth_ <= 1 ? scale : infinity;
    }
  }

  // Return Q and P: 0 if all products have a factor that is exactly 0.
  [[nodiscard]] double scale_of_q(verify::ProductSums const& sums, std::size_t i) const {
    double const magnitudes = sums.scale(i);
    return magnitudes > 0 ? magnitudes + static_cast<double>(outputs_) * denormal_ : 0;
  }
  [[nodiscard]] static double scale_of_p(double gamma, double q, double q_scale) {
    return gamma > 0 && q + q_scale > 0 ? gamma * (q_scale + q) + denormal_ : 0;
  }

  void add_to(Column& column, long double term, double error, bool known) const {
    column.value += term;
    column.scale += error + magnitude_of_wide(term);
    column.own += magnitude_of_wide(term) + growth_ * error;
    column.squares += error * error;
    column.known = column.known && known;
  }

  // Sets the second bound, if there are enough rows for it to be smaller.
  void set_random_bound(ExpectedField& field, std::size_t i, double own, double spread) const {
    if (field.random_scale.empty()) return;
    double const least = static_cast<double>(rows_) * denormal_;
    field.random_scale[i] = std::min(field.scale[i], own + spread + least);
    field.random_spread[i] = spread;
  }

  [[nodiscard]] ExpectedField field_of_columns(std::string name, std::vector<Column> const& columns) const {
    ExpectedField field = summed_field_of(std::move(name), {columns.size()});
    double const lost = static_cast<double>(rows_) * denormal_;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      Column const& column = columns[i];
      field.value[i] = static_cast<double>(column.value);
      bool const known = column.known && column.scale <= largest_ && growth_ <= 1;
      field.scale[i] = known ? column.scale + (column.scale > 0 ? lost : 0) : infinity;
      if (known) set_random_bound(field, i, column.own, std::sqrt(column.squares));
    }
    note_zeros(field);
    return field;
  }

  // If all terms of a field are 0, no sum can be flushed to zero.
  static void note_zeros(ExpectedField& field) {
    if (std::ranges::all_of(field.scale, [](double scale) { return scale == 0; })) field.grid = infinity;
  }

  [[nodiscard]] std::vector<ExpectedField> results() {
    ExpectedField dw = summed_field_of("dw", {outputs_, hidden_});
    double const lost = static_cast<double>(rows_) * denormal_;
    for (std::size_t i = 0; i < outputs_ * hidden_; ++i) {
      std::size_t const h = i % hidden_;
      double const scale = dw_.scale(i);
      bool const known = known_ln_[h] && (sign_known_ln_[h] || !has_infinite_grad_) && scale <= largest_;
      dw.value[i] = dw_.value(i);
      dw.scale[i] = known ? scale + (scale > 0 ? lost : 0) : infinity;
      Powers const& of_grad = powers_of_grad_[i / hidden_];
      Powers const& of_ln = powers_of_ln_[h];
      if (known) {
        set_random_bound(dw, i, std::sqrt(of_grad.squares * of_ln.squares),
                         std::sqrt(std::sqrt(of_grad.fourth * of_ln.fourth)));
      }
    }
    ExpectedField dbias = field_of_columns("dbias", dbias_);
    dbias.random_scale.clear();  // its terms are given, not computed
    dbias.random_spread.clear();
    double most = 0;
    for (Column const& column : dbias_) most = std::max(most, column.scale);
    if (grad_grid_.holds<T>(most)) dbias.scale.clear();
    dbias.grid = grad_grid_.spacing();
    note_zeros(dw);
    note_zeros(dx_);
    dx_.terms = static_cast<double>(std::max(hidden_, outputs_));
    return list_of(std::move(dx_), field_of_columns("dgamma", dgamma_), field_of_columns("dbeta", dbeta_),
                   std::move(dw), std::move(dbias));
  }

  // Returns a field of sums over rows; its random bounds are infinite (not checked) until they are set.
  [[nodiscard]] ExpectedField summed_field_of(std::string name, Shape const& shape) const {
    ExpectedField field = zero_field(std::move(name), shape, true);
    if (rows_ >= many_rows) {
      field.random_scale.assign(count_of(shape), infinity);
      field.random_spread.assign(count_of(shape), 0);
    }
    return field;
  }

  Input const& in_;
  std::size_t rows_;
  std::size_t hidden_;
  std::size_t outputs_;
  double longest_;
  double growth_;
  verify::NormalisedRowOracle<T> row_;
  std::vector<Element> elements_;  // of a row
  ExpectedField dx_;
  std::vector<Column> dgamma_;
  std::vector<Column> dbeta_;
  std::vector<Column> dbias_;
  verify::ProductSums dw_;
  std::vector<Powers> powers_of_grad_;  // per column
  std::vector<Powers> powers_of_ln_;    // per column: squares of magnitudes, fourth powers of errors
  std::vector<char> known_ln_;          // per column
  std::vector<char> sign_known_ln_;     // per column
  bool has_infinite_grad_ = false;
  verify::Grid grad_grid_;
};

}  // namespace

template <class T>
std::vector<ExpectedField> LayernormLinearBackward::reference(Input<T, Kokkos::HostSpace> const& input) {
  if constexpr (std::is_floating_point_v<T>) {
    return Oracle<T>(input).run();
  } else {
    return {};  // refused by check()
  }
}

}  // namespace tessera::layernorm_linear_backward

template struct tessera::References<tessera::layernorm_linear_backward::LayernormLinearBackward>;
