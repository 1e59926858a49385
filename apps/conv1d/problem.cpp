/// \file
/// Parameters of conv1d.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

std::vector<ParameterSpec> Conv1d::parameters() {
  return {
      {.name = "kernel",
       .help = "elements of the generated k",
       .default_value = std::int64_t{4},
       .choices = {},
       .minimum = 1,
       .shapes_generated = true},
      {.name = "tile",
       .help = "elements of a tile (teams with a halo, and register_window); 0: the variant's choice",
       .default_value = std::int64_t{0},
       .choices = {},
       .minimum = 0,
       .maximum = 1 << 20,
       .sweep = true},
      team_parameter(),
  };
}

Conv1d::Parameters Conv1d::Parameters::from(ParameterMap const& map) {
  return {.kernel = std::get<std::int64_t>(map.at("kernel")),
          .tile = std::get<std::int64_t>(map.at("tile")),
          .team = std::get<std::int64_t>(map.at("team"))};
}

}  // namespace tessera::conv1d
