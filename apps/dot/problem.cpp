/// \file
/// Parameters of dot.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::dot {

std::vector<ParameterSpec> Dot::parameters() {
  return {
      team_parameter(),
  };
}

Parameters Parameters::from(ParameterMap const& map) { return {.team = std::get<std::int64_t>(map.at("team"))}; }

}  // namespace tessera::dot
