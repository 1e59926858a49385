/// \file
/// Parameters of broadcast_add.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::broadcast_add {

std::vector<ParameterSpec> BroadcastAdd::parameters() {
  return {
      rows_parameter(),
      team_parameter(),
  };
}

BroadcastAdd::Parameters BroadcastAdd::Parameters::from(ParameterMap const& map) {
  return {.rows = std::get<std::int64_t>(map.at("rows")), .team = std::get<std::int64_t>(map.at("team"))};
}

}  // namespace tessera::broadcast_add
