/// \file
/// Parameters of lane_broadcast.

#include <string>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::lane_broadcast {

std::vector<ParameterSpec> LaneBroadcast::parameters() {
  return {
      {.name = "op",
       .help =
           "basic: x + sum of the first 4; conditional: 2x or x/2 by the maximum of the first 8; shuffle: (x + next) "
           "* mean of the first 4",
       .default_value = std::string("basic"),
       .choices = {"basic", "conditional", "shuffle"}},
      held_segment_parameter(),
      team_parameter(),
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  std::string const& op = std::get<std::string>(map.at("op"));
  return {
      .op = op == "shuffle"       ? BroadcastOp::shuffle
            : op == "conditional" ? BroadcastOp::conditional
                                  : BroadcastOp::basic,
      .segment = std::get<std::int64_t>(map.at("segment")),
      .team = std::get<std::int64_t>(map.at("team")),
  };
}

}  // namespace tessera::lane_broadcast
