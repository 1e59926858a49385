/// \file
/// The table of roofline's variants, in the order that --list shows, and its parameters.

#include <cmath>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::roofline {

VariantRows copy();
VariantRows triad();
VariantRows read();
VariantRows multiply_add();
VariantRows matrix_tf32();
VariantRows matrix_half();
VariantRows matrix_bfloat16();
VariantRows launch();

App app() {
  return make_app<Roofline>(
      {copy(), triad(), read(), multiply_add(), matrix_tf32(), matrix_half(), matrix_bfloat16(), launch()});
}

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
       .maximum = (1 << 24) - 256},  // what a float counts exactly
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  return {.s = std::get<double>(map.at("s")), .iterations = std::get<std::int64_t>(map.at("iterations"))};
}

void Roofline::check(Parameters const& parameters, DType dtype) {
  double const most = dtype == DType::int32      ? static_cast<double>(std::numeric_limits<std::int32_t>::max())
                      : dtype == DType::float32  ? static_cast<double>(std::numeric_limits<float>::max())
                      : dtype == DType::float16  ? static_cast<double>(std::numeric_limits<Half>::max())
                      : dtype == DType::bfloat16 ? static_cast<double>(std::numeric_limits<BFloat16>::max())
                                                 : std::numeric_limits<double>::max();
  if (!(std::abs(parameters.s) <= most)) {
    throw UserError("s = " + std::to_string(parameters.s) + " does not fit (the run's dtype is " +
                    std::string(name_of(dtype)) + "); use a smaller one");
  }
}

}  // namespace tessera::roofline
