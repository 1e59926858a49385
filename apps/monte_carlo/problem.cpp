/// \file
/// The conditions on a market, the exact values, and the factor of the control variate.

#include "problem.hpp"

#include <cmath>
#include <numbers>
#include <string>

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

double exact_value(Parameters const& parameters) {
  if (parameters.quantity == Quantity::pi) return std::numbers::pi;
  if (parameters.quantity == Quantity::coin) return 0.5;
  double const s = parameters.deviation();
  double const strike = parameters.relative_strike();
  double const d1 = (-std::log(strike) + s * s / 2) / s;
  return parameters.spot * (normal(d1) - strike * normal(d1 - s));
}

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
