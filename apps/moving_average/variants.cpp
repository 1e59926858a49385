/// \file
/// The table of moving_average's variants, in the order that --list shows, and its parameters.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/app/make_app.hpp>

namespace tessera::moving_average {

VariantRows direct();
VariantRows scratch();
VariantRows lane_shift();

App app() { return make_app<MovingAverage>({direct(), scratch(), lane_shift()}); }

std::vector<ParameterSpec> MovingAverage::parameters() {
  return {
      {.name = "segment",
       .help = "elements of a segment; 0: the whole array is one",
       .default_value = std::int64_t{0},
       .choices = {},
       .minimum = 0},
      {.name = "tile",
       .help = "elements that a team works on at a time; 0: the variant's choice",
       .default_value = std::int64_t{0},
       .choices = {},
       .minimum = 0,
       .maximum = 1 << 30},
      {.name = "team",
       .help = "threads of a team; 0: the variant's choice",
       .default_value = std::int64_t{0},
       .choices = {},
       .minimum = 0,
       .maximum = 1 << 20},
  };
}

MovingAverage::Parameters MovingAverage::Parameters::from(ParameterMap const& map) {
  return {.segment = static_cast<std::size_t>(std::get<std::int64_t>(map.at("segment"))),
          .tile = std::get<std::int64_t>(map.at("tile")),
          .team = std::get<std::int64_t>(map.at("team"))};
}

}  // namespace tessera::moving_average
