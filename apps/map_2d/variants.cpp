/// \file
/// The table of map_2d's variants, in the order that --list shows, and its parameters.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/constant.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

VariantRows mdrange();
VariantRows blocked();
VariantRows pointer();
VariantRows team_tiles();
VariantRows team_guarded();
VariantRows layout_left();
VariantRows layout_stride();
VariantRows layout_tiled();
VariantRows vector();
VariantRows distributed();

App app() {
  return make_app<Map2d>({mdrange(), blocked(), pointer(), team_tiles(), team_guarded(), layout_left(), layout_stride(),
                          layout_tiled(), vector(), distributed()});
}

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
