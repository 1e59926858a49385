/// \file
/// Parameters of map_2d.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/constant.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

std::vector<ParameterSpec> Map2d::parameters() {
  return {
      {.name = "c", .help = "the constant that is added", .default_value = 10.0, .choices = {}},
      rows_parameter(),
      {.name = "tile",
       .help = "rows and columns of a tile (team_tiles, team_guarded); 0: the variant's choice",
       .default_value = std::int64_t{0},
       .choices = {},
       .minimum = 0,
       .maximum = 1 << 10,
       .sweep = true},
      team_parameter(),
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  return {.c = std::get<double>(map.at("c")),
          .rows = std::get<std::int64_t>(map.at("rows")),
          .tile = std::get<std::int64_t>(map.at("tile")),
          .team = std::get<std::int64_t>(map.at("team"))};
}

void Map2d::check(Parameters const& parameters, DType dtype) { check_constant("c", parameters.c, dtype); }

}  // namespace tessera::map_2d
