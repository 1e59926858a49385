/// \file
/// Parameters of map.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/constant.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map {

std::vector<ParameterSpec> Map::parameters() {
  return {
      {.name = "c", .help = "the constant that is added", .default_value = 10.0, .choices = {}},
      {.name = "tile",
       .help = "elements of a tile (team_guarded, scratch); 0: the variant's choice",
       .default_value = std::int64_t{0},
       .choices = {},
       .minimum = 0,
       .maximum = 1 << 20,
       .sweep = true},
      team_parameter(),
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  return {.c = std::get<double>(map.at("c")),
          .tile = std::get<std::int64_t>(map.at("tile")),
          .team = std::get<std::int64_t>(map.at("team"))};
}

void Map::check(Parameters const& parameters, DType dtype) { check_constant("c", parameters.c, dtype); }

}  // namespace tessera::map
