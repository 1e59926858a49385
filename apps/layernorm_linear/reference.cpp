/// \file
/// The serial oracle of layernorm_linear: a block of rows at a time, normalised in long double, then multiplied by w in
/// double (in twice double precision if the dtype is double).
///
/// Error bound. With g = (1 + u)^s - 1 and s the variant's longest chain of roundings from a row's sum to an output:
///
///     |error of xhat| <= g X                      (verify/normalised_rows.hpp)
///     |error of ln|   <= g L,   L = |gamma| (X + |xhat|) + |beta|
///     |error of y|    <= g (sum_h |w| (L + |ln|) + |bias|)
///
/// The last line holds because s counts the steps of both, and (1 + a)(1 + b) - 1 bounds an error a of ln and an error
/// b of the products (Higham, Accuracy and Stability of Numerical Algorithms, 3.1, 3.5). A product that underflows
/// loses a denormal, which is added to L and to the sum, in units of u. An element is not checked (scale infinity) if
/// its magnitudes exceed the dtype's range, if its row is not known, or if it has an infinite gamma or w times a number
/// of unknown sign.
///
/// Factors of bfloat16 (float only). A row that rounds ln and w to bfloat16, to nearest, makes known rounding errors:
/// the oracle also computes the sum of the rounded factors. The computed ln is off by at most ((1 + u)^t - 1) L, with t
/// = steps_to_ln. Only if it may lie on the other side of a tie, the neighbouring bfloat16 number is possible, and the
/// difference is added to the bound. For each sum of 16 products and the previous sum, a matrix unit truncates at most
/// 40 u of the magnitudes (kernels/tensor_gemm.hpp); the sum of magnitudes is at most the product of both norms (Cauchy
/// and Schwarz).
///
/// check() refuses integers; the reference accepts them because every dtype of a build needs a reference.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/half.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/normalised_rows.hpp>
#include <tessera/verify/product_sums.hpp>

namespace tessera::layernorm_linear {

namespace {

// Factors rounded to bfloat16. The scale of ln is the change that another rounding of it would make. w has no other
// rounding; its scale is its magnitude. The scale of a product is then the total change that is possible.
struct RoundedFactor {
  verify::Factor factor;
  std::vector<double> squares;  // sums of rows of ln, or of w

  RoundedFactor(std::size_t count, std::size_t lines) : squares(lines) { factor.resize(count, false); }

  // Sets an element of ln that is off by at most `error`.
  void set_ln(std::size_t i, std::size_t line, double value, double error) {
    auto const rounded = static_cast<double>(BFloat16(value));
    double const below = rounded - static_cast<double>(BFloat16(value - error));
    double const above = static_cast<double>(BFloat16(value + error)) - rounded;
    double const other = std::max(below, above);
    set(i, line, rounded, std::isfinite(other) ? other : 0);
  }
  void set_w(std::size_t i, std::size_t line, double value) {
    auto const rounded = static_cast<double>(BFloat16(value));
    set(i, line, rounded, verify::magnitude_of(rounded));
  }

 private:
  void set(std::size_t i, std::size_t line, double rounded, double scale) {
    factor.set(i, rounded, scale);
    squares[line] += rounded * rounded;
  }
};

}  // namespace

template <class T>
std::vector<ExpectedField> LayernormLinear::reference(Input<T, Kokkos::HostSpace> const& input) {
  using verify::magnitude_of;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr bool twice = std::is_same_v<T, double>;
  constexpr bool has_bfloat16 = std::is_same_v<T, float>;
  constexpr auto largest = static_cast<double>(std::numeric_limits<T>::max());
  std::size_t const rows = input.rows();
  std::size_t const hidden = input.hidden();
  std::size_t const outputs = input.outputs();
  double const unit = unit_roundoff(dtype_of<T>);
  double const denormal = static_cast<double>(std::numeric_limits<T>::denorm_min()) / unit;
  double const longest = rounding_steps({{rows, hidden}, {}, {}, {outputs, hidden}, {}}, input.parameters);
  double const growth = std::expm1(longest * unit);
  double const growth_of_ln = std::expm1(steps_to_ln(hidden) * unit);
  double const of_units = 40 * unit * static_cast<double>((hidden + 15) / 16);

  verify::Factor w;  // [hidden, outputs]
  w.resize(hidden * outputs, false);
  RoundedFactor rounded_w(has_bfloat16 ? hidden * outputs : 0, outputs);
  std::vector<std::pair<std::size_t, std::size_t>> infinite_w;  // (o, h)
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t h = 0; h < hidden; ++h) {
      auto const value = static_cast<double>(input.w(o, h));
      w.set(h * outputs + o, value, magnitude_of(value));
      if (std::isinf(value)) infinite_w.emplace_back(o, h);
      if constexpr (has_bfloat16) rounded_w.set_w(h * outputs + o, o, value);
    }
  }

  ExpectedField y = zero_field("y", {rows, outputs}, true);
  if (has_bfloat16) y.bfloat16_offset = y.scale;
  verify::NormalisedRowOracle<T> row(hidden, input.parameters.eps, longest);
  constexpr std::size_t block = 64;
  for (std::size_t first = 0; first < rows && outputs > 0; first += block) {
    std::size_t const count = std::min(block, rows - first);
    verify::Factor ln;
    ln.resize(count * hidden, twice);
    std::vector<char> known(count * outputs, 1);
    RoundedFactor rounded_ln(has_bfloat16 ? count * hidden : 0, count);
    for (std::size_t r = 0; r < count; ++r) {
      row.take(&input.x(first + r, 0));
      bool known_row = row.known;
      std::vector<char> sign_is_known(infinite_w.empty() ? 0 : hidden, 1);
      for (std::size_t h = 0; h < hidden; ++h) {
        auto const gamma = static_cast<long double>(input.gamma(h));
        auto const beta = static_cast<long double>(input.beta(h));
        long double const xhat = row.xhat(h);
        auto const rounded_xhat = static_cast<double>(xhat);
        long double const value = gamma * xhat + beta;
        double const of_gamma = magnitude_of(static_cast<double>(gamma));
        double const error = of_gamma * (row.scale(h, rounded_xhat) + magnitude_of(rounded_xhat)) +
                             magnitude_of(static_cast<double>(beta)) + denormal;
        auto const magnitude = magnitude_of(static_cast<double>(value));
        ln.set(r * hidden + h, value, error + magnitude);
        if constexpr (has_bfloat16) {
          rounded_ln.set_ln(r * hidden + h, r, static_cast<double>(value), growth_of_ln * error);
        }
        if (std::isinf(gamma) && !row.sign_is_known(h, rounded_xhat)) known_row = false;
        // Beyond the dtype's range ln is infinite in some variants only, so its product with w is not known.
        if (std::isfinite(value) && !(magnitude + growth * error <= largest)) known_row = false;
        if (!sign_is_known.empty()) sign_is_known[h] = !std::isfinite(value) || magnitude > growth * error;
      }
      if (!known_row) std::fill_n(known.begin() + static_cast<std::ptrdiff_t>(r * outputs), outputs, 0);
      for (auto const& [o, h] : infinite_w) {
        if (!sign_is_known[h]) known[r * outputs + o] = 0;
      }
    }
    verify::ProductSums sums(count, outputs, twice);
    sums.add(ln, w, hidden);
    for (std::size_t i = 0; i < count * outputs; ++i) {
      auto const bias = static_cast<double>(input.bias(i % outputs));
      double const scale = sums.scale(i) + magnitude_of(bias);
      y.value[first * outputs + i] = sums.value(i) + bias;
      y.scale[first * outputs + i] =
          known[i] && scale <= largest ? scale + static_cast<double>(hidden) * denormal : infinity;
    }
    if constexpr (has_bfloat16) {
      verify::ProductSums rounded(count, outputs, false);
      rounded.add(rounded_ln.factor, rounded_w.factor, hidden);
      for (std::size_t i = 0; i < count * outputs; ++i) {
        double const shift = rounded.value(i) - sums.value(i);
        double const norms = std::sqrt(rounded_ln.squares[i / outputs] * rounded_w.squares[i % outputs]);
        // If the shift is not finite, neither is the value, and only one result is right.
        y.bfloat16_offset[first * outputs + i] =
            std::isfinite(shift) ? std::abs(shift) + rounded.scale(i) + of_units * norms : 0;
      }
    }
  }
  return list_of(std::move(y));
}

}  // namespace tessera::layernorm_linear

template struct tessera::References<tessera::layernorm_linear::LayernormLinear>;
