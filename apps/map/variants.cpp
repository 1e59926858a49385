/// \file
/// The table of map's variants, in the order that --list shows, and its parameters.

#include <cmath>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/app/make_app.hpp>

namespace tessera::map {

VariantRows range();
VariantRows pointer();
VariantRows team_guarded();
VariantRows scratch();
VariantRows vector();

App app() { return make_app<Map>({range(), pointer(), team_guarded(), scratch(), vector()}); }

std::vector<ParameterSpec> Map::parameters() {
  return {
      {.name = "c", .help = "the constant that is added", .default_value = 10.0, .choices = {}},
      {.name = "team",
       .help = "threads of a team; 0: the variant's choice",
       .default_value = std::int64_t{0},
       .choices = {},
       .minimum = 0,
       .maximum = 1 << 20},
  };
}

Map::Parameters Map::Parameters::from(ParameterMap const& map) {
  return {.c = std::get<double>(map.at("c")), .team = std::get<std::int64_t>(map.at("team"))};
}

void Map::check(Parameters const& parameters, DType dtype) {
  using Limits = std::numeric_limits<std::int32_t>;
  double const c = parameters.c;
  if (dtype == DType::int32 && !(c == std::floor(c) && c >= Limits::min() && c <= Limits::max())) {
    throw UserError("c = " + std::to_string(c) + " does not fit (the run's dtype is int32) use an integer of 32 bits");
  }
  if (dtype == DType::float32 && std::abs(c) > static_cast<double>(std::numeric_limits<float>::max())) {
    throw UserError("c = " + std::to_string(c) +
                    " does not fit (the run's dtype is float) use a smaller one, or double");
  }
}

}  // namespace tessera::map
