/// \file
/// The serial oracle of layernorm_linear: a block of rows at a time, normalised in long double, then multiplied by w in
/// double (for double in twice the precision).
///
/// Error bound. With g = (1 + u)^s - 1, s the variant's longest chain of roundings from a row's sum to an output:
///
///     |error of xhat| <= g X                      (verify/normalised_rows.hpp)
///     |error of ln|   <= g L,   L = |gamma| (X + |xhat|) + |beta|
///     |error of y|    <= g (sum_h |w| (L + |ln|) + |bias|)
///
/// the last because s counts the steps of both, and (1 + a)(1 + b) - 1 bounds errors a of ln and b of the products that
/// follow (Higham, Accuracy and Stability of Numerical Algorithms, 3.1, 3.5). A product that underflows loses a
/// denormal: added to L and to the sum, in units of u. Nothing can be asked of an element (scale infinity) whose
/// magnitudes pass the dtype's range, whose row is not known, or that has an infinite gamma or w times a number whose
/// sign is not known.
///
/// Factors of bfloat16 (float only): rounding them to nearest is off by 2^-8 of each, and of a product by 2^-7 + 2^-16 of it. Their
/// sum is at most that times the norms of a row of ln and of a row of w (Cauchy, Schwarz): for most rows little more than the sum of
/// |w| |ln|, which would have to be made besides, and a third of the scale, in which L enters.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/verify/normalised_rows.hpp>
#include <tessera/verify/product_sums.hpp>

namespace tessera::layernorm_linear {

namespace {

template <class T>
std::vector<ExpectedField> floating_reference(LayernormLinear::Input<T, Kokkos::HostSpace> const& input) {
  using verify::magnitude_of;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr bool twice = std::is_same_v<T, double>;
  constexpr bool has_bfloat16 = std::is_same_v<T, float>;
  constexpr double of_bfloat16 = 0x1p-7 + 0x1p-16;
  constexpr auto largest = static_cast<double>(std::numeric_limits<T>::max());
  std::size_t const rows = input.rows();
  std::size_t const hidden = input.hidden();
  std::size_t const outputs = input.outputs();
  double const unit = unit_roundoff(dtype_of<T>);
  double const denormal = static_cast<double>(std::numeric_limits<T>::denorm_min()) / unit;
  double const longest =
      LayernormLinear::rounding_steps({{rows, hidden}, {}, {}, {outputs, hidden}, {}}, input.parameters);
  double const growth = std::expm1(longest * unit);

  verify::Factor w;  // [hidden, outputs]
  w.resize(hidden * outputs, false);
  std::vector<std::pair<std::size_t, std::size_t>> infinite_w;  // (o, h)
  std::vector<double> norm_of_w(outputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t h = 0; h < hidden; ++h) {
      auto const value = static_cast<double>(input.w(o, h));
      w.set(h * outputs + o, value, magnitude_of(value));
      if (std::isinf(value)) infinite_w.emplace_back(o, h);
      norm_of_w[o] += value * value;
    }
    norm_of_w[o] = std::sqrt(norm_of_w[o]);
  }

  ExpectedField y{.name = "y",
                  .shape = {rows, outputs},
                  .value = std::vector<double>(rows * outputs),
                  .scale = std::vector<double>(rows * outputs),
                  .bfloat16_offset = std::vector<double>(has_bfloat16 ? rows * outputs : 0)};
  verify::NormalisedRowOracle row(hidden, input.parameters.eps, longest, T{});
  constexpr std::size_t block = 64;
  for (std::size_t first = 0; first < rows && outputs > 0; first += block) {
    std::size_t const count = std::min(block, rows - first);
    verify::Factor ln;
    ln.resize(count * hidden, twice);
    std::vector<char> known(count * outputs, 1);
    std::vector<double> norm_of_ln(count);
    for (std::size_t r = 0; r < count; ++r) {
      row.take(&input.x(first + r, 0));
      bool known_row = row.known;
      std::vector<char> sign_is_known(infinite_w.empty() ? 0 : hidden, 1);
      for (std::size_t h = 0; h < hidden; ++h) {
        auto const gamma = static_cast<long double>(input.gamma(h));
        auto const beta = static_cast<long double>(input.beta(h));
        long double const value = gamma * row.xhat[h] + beta;
        double const of_gamma = magnitude_of(static_cast<double>(gamma));
        double const error = of_gamma * (row.scale[h] + magnitude_of(static_cast<double>(row.xhat[h]))) +
                             magnitude_of(static_cast<double>(beta)) + denormal;
        auto const magnitude = magnitude_of(static_cast<double>(value));
        ln.set(r * hidden + h, value, error + magnitude);
        norm_of_ln[r] += static_cast<double>(value * value);
        if (std::isinf(gamma) && !row.sign_is_known(h)) known_row = false;
        // Past the range of the dtype it is an infinity in some variants, and its product with w another thing.
        if (std::isfinite(value) && !(magnitude + growth * error <= largest)) known_row = false;
        if (!sign_is_known.empty()) sign_is_known[h] = !std::isfinite(value) || magnitude > growth * error;
      }
      norm_of_ln[r] = std::sqrt(norm_of_ln[r]);
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
      if constexpr (has_bfloat16) {
        double const norms = norm_of_ln[i / outputs] * norm_of_w[i % outputs];
        // Where they are not finite the value is not, and is right in one way only; or the scale says that nothing is known.
        y.bfloat16_offset[first * outputs + i] = std::isfinite(norms) ? of_bfloat16 * norms : 0;
      }
    }
  }
  return list_of(std::move(y));
}

}  // namespace

template <class T>
std::vector<ExpectedField> LayernormLinear::reference(Input<T, Kokkos::HostSpace> const& input) {
  if constexpr (std::is_floating_point_v<T>) {
    return floating_reference(input);
  } else {
    return {};  // refused by check()
  }
}

template std::vector<ExpectedField> LayernormLinear::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> LayernormLinear::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> LayernormLinear::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::layernorm_linear
