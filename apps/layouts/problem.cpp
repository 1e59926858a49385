/// \file
/// Parameters of layouts.

#include <string>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layouts {

std::vector<ParameterSpec> Layouts::parameters() {
  return {
      rows_parameter(),
      {.name = "pitch",
       .help = "stride: rows begin at multiples of so many elements, 1 to 4096",
       .default_value = std::int64_t{32},
       .choices = {},
       .minimum = 1,
       .maximum = 4096},
      {.name = "side",
       .help = "tiled: rows and columns of a tile, a power of two from 1 to 64",
       .default_value = std::int64_t{8},
       .choices = {},
       .minimum = 1,
       .maximum = 64},
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  Parameters const parameters{.rows = std::get<std::int64_t>(map.at("rows")),
                              .pitch = std::get<std::int64_t>(map.at("pitch")),
                              .side = std::get<std::int64_t>(map.at("side"))};
  if ((parameters.side & (parameters.side - 1)) != 0) {
    throw UserError("side = " + std::to_string(parameters.side) +
                    " is no power of two (places in a tile are found by shifts); use 1, 2, 4 ... 64");
  }
  return parameters;
}

}  // namespace tessera::layouts
