/// \file
/// Parameters of bias_add.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::bias_add {

std::vector<ParameterSpec> BiasAdd::parameters() {
  return {
      rows_parameter(),
      team_parameter(),
  };
}

BiasAdd::Parameters BiasAdd::Parameters::from(ParameterMap const& map) {
  return {.rows = std::get<std::int64_t>(map.at("rows")), .team = std::get<std::int64_t>(map.at("team"))};
}

}  // namespace tessera::bias_add
