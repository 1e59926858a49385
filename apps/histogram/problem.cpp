/// \file
/// Checks of the parameters of histogram, and generated data.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "problem.hpp"

#include <tessera/core/random.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::histogram {

namespace {

std::string text_of_range(Histogram::Parameters const& of) {
  return "lo = " + shortest_text(of.lo) + " and hi = " + shortest_text(of.hi);
}

template <class T>
void check_floating(Histogram::Parameters const& of) {
  std::string const name(name_of(dtype_of<T>));
  auto const lo = static_cast<T>(of.lo);
  auto const hi = static_cast<T>(of.hi);
  if (!(lo < hi)) {
    throw UserError(text_of_range(of) + " are the same number in " + name +
                    " (bounds are rounded to the dtype); choose a wider range or another --dtype");
  }
  if (!std::isnormal(static_cast<T>(of.bins) / (hi - lo))) {
    throw UserError(text_of_range(of) + " with " + std::to_string(of.bins) + " bins leave " + name +
                    "'s range (bins / (hi - lo) must be a normal number); choose another range or another --dtype");
  }
}

// Returns one of 2^16 values, scattered over [0, 1). Value number r has a probability of log(1 + 1/r) / log(2^16 + 1);
// the logarithm replaces harmonic numbers.
double zipf_value(double uniform, std::uint64_t seed) {
  constexpr double values = 65536;
  double const rank = std::floor(std::exp(uniform * std::log(values + 1)));
  auto const number = static_cast<std::uint64_t>(std::min(rank, values));
  return static_cast<double>(random_bits(seed, 1, number) >> 11) * 0x1p-53;
}

}  // namespace

void Parameters::check() const {
  if (!std::isfinite(lo) || !std::isfinite(hi) || !(lo < hi)) {
    throw UserError(text_of_range(*this) +
                    " are not a range (bins lie from lo up to hi); give two numbers, the smaller one as --lo");
  }
}

void Histogram::check(Parameters const& parameters, DType dtype) {
  if (dtype == DType::float32) return check_floating<float>(parameters);
  if (dtype == DType::float64) return check_floating<double>(parameters);
  bool const whole = parameters.lo == std::floor(parameters.lo) && parameters.hi == std::floor(parameters.hi);
  if (!whole || parameters.lo < -0x1p31 || parameters.hi > 0x1p31) {
    throw UserError(
        text_of_range(parameters) +
        " are not a range of int32 (its bins are whole numbers from -2^31 to 2^31); give two of these, or a floating "
        "--dtype");
  }
}

template <class T>
T Histogram::element(Draw const& draw, Parameters const& parameters) {
  std::uint64_t const bits = random_bits(draw.seed, draw.field, draw.index);
  double const uniform = static_cast<double>(bits >> 11) * 0x1p-53;
  double const width = parameters.hi - parameters.lo;
  bool const outside = bits % 64 == 0 && parameters.distribution != Distribution::constant;
  double value = 0;
  if (outside) {
    value = (bits >> 6) % 2 == 0 ? parameters.lo - (1 - uniform) * width : parameters.hi + uniform * width;
  } else {
    switch (parameters.distribution) {
      case Distribution::uniform: value = parameters.lo + uniform * width; break;
      case Distribution::zipf: value = parameters.lo + zipf_value(uniform, draw.seed) * width; break;
      case Distribution::constant: value = parameters.lo + 0.4 * width; break;
    }
  }
  if (draw.data == DataKind::adversarial && bits % 4 != 0) {
    // An edge of a bin, or a number next to it.
    double const edge = std::floor(uniform * static_cast<double>(parameters.bins + 1));
    value = parameters.lo + edge * (width / static_cast<double>(parameters.bins));
    auto const step = static_cast<int>((bits >> 2) % 3) - 1;
    if constexpr (std::is_floating_point_v<T>) {
      auto const near = static_cast<T>(value);
      T const towards = step < 0 ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
      return step == 0 ? near : std::nextafter(near, towards);
    } else {
      value += step;
    }
  }
  if constexpr (std::is_integral_v<T>) value = std::floor(value);
  return static_cast<T>(std::clamp(value, static_cast<double>(std::numeric_limits<T>::lowest()),
                                   static_cast<double>(std::numeric_limits<T>::max())));
}

template float Histogram::element(Draw const&, Parameters const&);
template double Histogram::element(Draw const&, Parameters const&);
template std::int32_t Histogram::element(Draw const&, Parameters const&);

}  // namespace tessera::histogram
