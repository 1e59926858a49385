/// \file
/// The conditions on a market, the exact values, and the factor of the control variate.

#include "problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <type_traits>

namespace tessera::monte_carlo {

namespace {

/// The distribution function of the standard normal distribution.
double normal(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

}  // namespace

void MonteCarlo::check(Parameters const& parameters, DType dtype) {
  if (dtype != DType::float32 && dtype != DType::float64) {
    throw UserError("the dtype " + std::string(name_of(dtype)) +
                    " has no points (estimates are real numbers); use --dtype float or double");
  }
  if (parameters.quantity == Quantity::coin && parameters.variates != Variates::plain) {
    throw UserError(
        "a coin has no variates (there is nothing to gain); use --variates plain, or --quantity pi or call");
  }
  if (!(parameters.deviation() <= 1)) {
    throw UserError("volatility * sqrt(years) = " + shortest_text(parameters.deviation()) +
                    " is above 1 (few points would decide the mean); use a smaller --volatility or --years");
  }
  double const strike = parameters.relative_strike();
  if (!(strike >= 0.01 && strike <= 100)) {
    throw UserError(
        "strike / spot * exp(-rate * years) = " + shortest_text(strike) +
        " is not within 0.01 to 100 (the option is sure to be used, or not to be); use a --strike nearer to --spot, a "
        "--rate nearer to 0 or fewer --years");
  }
}

double probability_of_use(Parameters const& parameters) {
  double const s = parameters.deviation();
  return normal((-std::log(parameters.relative_strike()) - s * s / 2) / s);
}

bool is_judged(Parameters const& parameters) {
  double const points = static_cast<double>(parameters.count) / replicates;
  double const paying = parameters.quantity == Quantity::call ? probability_of_use(parameters) : 1;
  return points >= 1024 && points * paying >= 1000;
}

template <class T>
double exact_value(Parameters const& parameters) {
  if (parameters.quantity == Quantity::pi) return std::numbers::pi;
  if (parameters.quantity == Quantity::coin) return 0.5;
  Market<T> const market = market_of<T>(parameters);
  double const s = static_cast<double>(market.deviation) * std::numbers::ln2;
  double const strike = static_cast<double>(market.strike);
  // The mean of x, which is 1 but for the roundings of the constants.
  double const mean = std::exp(static_cast<double>(market.drift) * std::numbers::ln2 + s * s / 2);
  double const d1 = (std::log(mean / strike) + s * s / 2) / s;
  double const price = mean * normal(d1) - strike * normal(d1 - s);
  double const taken = parameters.variates == Variates::control ? static_cast<double>(market.factor) * (mean - 1) : 0;
  return parameters.spot * (price - taken);
}

// Prices that pay are at least as far apart as numbers beside the strike. Antithetic variates halve them.
template <class T>
double common_rounding(Parameters const& parameters) {
  auto const strike = static_cast<T>(parameters.relative_strike());
  int const exponent = std::ilogb(strike) + 1 - std::numeric_limits<T>::digits;  // of the last digit
  int const halved = parameters.variates == Variates::antithetic ? 1 : 0;
  int const digits = digits_of(parameters);
  if (exponent - halved + digits >= 0) return 0;
  return std::min(0.5, std::ldexp(unit_roundoff(dtype_of<T>), digits));
}

// The mean f(u) of the payoff over v falls with u, and is at most exp(-s^2 / 2) I0(s r): the Bessel function I0 is the
// mean of exp(s r cos(2 pi v)), r = sqrt(-2 log u).
// - Ends of cells (random points): the sum of f over cells of h misses at most the integral of f from 0 to h, which is
//   h f(h) / (1 - s / r) at most.
// - Middles of cells (Sobol points): only cells near 0 differ, where -u f'(u) is nearly a constant c, at most
//   s / r exp(-s^2 / 2) I0(s r): log u has the bias h log(2) / 2, so that of f is below h c / 2. Float rounds u >= 2^-8
//   to the middles of its own cells, whose bias is of second order.
// - v has the bias 0, because f is a mean over a whole turn.
// - Values are rounded to units d, and the lower half of the first unit to 0. With the density 0.4 / (s k) of x at the
//   strike, the mean changes by d^2 / 24 of that.
// - The roundings of a point have means that are nearly 0: see most_mean_rounding.
template <class T>
double most_bias(Parameters const& parameters) {
  if (parameters.quantity == Quantity::pi) return 0x1p-31;
  if (parameters.quantity == Quantity::coin) return 0;
  double const s = parameters.deviation();
  bool const ends = parameters.points == Points::random;
  double const h = !ends ? 0x1p-31 : std::is_same_v<T, float> ? 0x1p-24 : 0x1p-32;
  double const r = std::sqrt(-2 * std::log(h));
  double bessel = 0;
  for (int k = 0; k < 32; ++k) bessel += std::exp(s * r * std::cos(std::numbers::pi / 32 * (k + 0.5))) / 32;
  double const highest = h * std::exp(-s * s / 2) * bessel;
  double const of_cells = ends ? highest / (1 - s / r) : highest * s / r;
  double const unit = std::ldexp(1.0, -digits_of(parameters));
  double const of_units = unit * unit / 60 / (s * parameters.relative_strike());
  double const of_roundings = most_mean_rounding * unit_roundoff(dtype_of<T>) * (4 + 16 * s + 14 * s * s) +
                              common_rounding<T>(parameters) * unit;
  return parameters.spot * (of_cells + of_units + of_roundings);
}

template double exact_value<float>(Parameters const& parameters);
template double exact_value<double>(Parameters const& parameters);
template double common_rounding<float>(Parameters const& parameters);
template double common_rounding<double>(Parameters const& parameters);
template double most_bias<float>(Parameters const& parameters);
template double most_bias<double>(Parameters const& parameters);

// With price x and payoff max(x - k, 0), E x = 1, E x^2 = exp(s^2), and E (x - k) x over x > k is exp(s^2) N(d1 + s) -
// k N(d1).
double control_factor(Parameters const& parameters) {
  double const s = parameters.deviation();
  double const strike = parameters.relative_strike();
  double const d1 = (-std::log(strike) + s * s / 2) / s;
  double const payoff = normal(d1) - strike * normal(d1 - s);
  double const product = std::exp(s * s) * normal(d1 + s) - strike * normal(d1);
  return (product - payoff) / std::expm1(s * s);
}

}  // namespace tessera::monte_carlo
