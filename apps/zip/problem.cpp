/// \file
/// Parameters of zip.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::zip {

std::vector<ParameterSpec> Zip::parameters() {
  return {
      {.name = "tile",
       .help = "elements of a contiguous tile, packs for manual_vector; 0: the variant's choice",
       .default_value = std::int64_t{0},
       .choices = {},
       .minimum = 0,
       .maximum = 1 << 30,
       .sweep = true},
      team_parameter(),
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  return {.tile = std::get<std::int64_t>(map.at("tile")), .team = std::get<std::int64_t>(map.at("team"))};
}

}  // namespace tessera::zip
