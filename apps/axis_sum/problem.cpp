/// \file
/// Parameters of axis_sum.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::axis_sum {

std::vector<ParameterSpec> AxisSum::parameters() {
  return {
      {.name = "axis",
       .help = "the axis that is summed over: 1 gives a sum for each row, 0 one for each column",
       .default_value = std::int64_t{1},
       .choices = {},
       .minimum = 0,
       .maximum = 1},
      rows_parameter(),
      team_parameter(),
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  return {.axis = std::get<std::int64_t>(map.at("axis")),
          .rows = std::get<std::int64_t>(map.at("rows")),
          .team = std::get<std::int64_t>(map.at("team"))};
}

}  // namespace tessera::axis_sum
