/// \file
/// Parameters of roofline.

#include <cmath>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::roofline {

std::vector<ParameterSpec> Roofline::parameters() {
  return {
      {.name = "s",
       .help = "the factor of triad, a + s * b; int32 takes its whole part",
       .default_value = 0.5,
       .choices = {}},
      {.name = "iterations",
       .help = "multiply-adds of a chain",
       .default_value = std::int64_t{4096},
       .choices = {},
       .minimum = 0,
       .maximum = (1 << 24) - 256},  // a float counts exactly up to here
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  return {.s = std::get<double>(map.at("s")), .iterations = std::get<std::int64_t>(map.at("iterations"))};
}

void Roofline::check(Parameters const& parameters, DType dtype) {
  double const most = std::numeric_limits<std::int32_t>::max();
  if (dtype == DType::int32 && std::abs(parameters.s) > most) {
    throw UserError("s = " + shortest_text(parameters.s) +
                    " does not fit (the run's dtype is int32); use a smaller one");
  }
}

}  // namespace tessera::roofline
