/// \file
/// Parameters of transpose.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transpose {

std::vector<ParameterSpec> Transpose::parameters() {
  return {
      rows_parameter(),
      team_parameter(),
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  return {.rows = std::get<std::int64_t>(map.at("rows")), .team = std::get<std::int64_t>(map.at("team"))};
}

}  // namespace tessera::transpose
