/// \file
/// Checks of the parameters of histogram.

#include <cmath>
#include <string>

#include "problem.hpp"

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
                    " (bounds are rounded to the dtype); choose a wider range");
  }
  T const scale = static_cast<T>(of.bins) / (hi - lo);
  if (!std::isnormal(scale)) {
    throw UserError(text_of_range(of) + " with " + std::to_string(of.bins) + " bins leave " + name +
                    "'s range (bins / (hi - lo) must be a normal number); choose a " +
                    (scale > 1 ? "wider" : "narrower") + " range");
  }
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
    throw UserError(text_of_range(parameters) +
                    " are not a range of int32 (its bins are whole numbers from -2^31 to 2^31); give two of these");
  }
}

}  // namespace tessera::histogram
