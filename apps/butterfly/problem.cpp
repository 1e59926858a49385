/// \file
/// Parameters of butterfly.

#include <string>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::butterfly {

std::vector<ParameterSpec> Butterfly::parameters() {
  return {
      {.name = "op",
       .help = "pair_swap: in[i xor 1]; max: the segment's maximum; minmax_parity: its maximum at even positions, its "
               "minimum at odd ones",
       .default_value = std::string("max"),
       .choices = {"pair_swap", "max", "minmax_parity"}},
      held_segment_parameter(),
      team_parameter(),
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  std::string const& op = std::get<std::string>(map.at("op"));
  return {
      .op = op == "pair_swap" ? ButterflyOp::pair_swap
            : op == "max"     ? ButterflyOp::max
                              : ButterflyOp::minmax_parity,
      .segment = std::get<std::int64_t>(map.at("segment")),
      .team = std::get<std::int64_t>(map.at("team")),
  };
}

}  // namespace tessera::butterfly
