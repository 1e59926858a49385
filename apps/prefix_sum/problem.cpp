/// \file
/// Parameters of prefix_sum.

#include <string>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::prefix_sum {

std::vector<ParameterSpec> PrefixSum::parameters() {
  return {
      {.name = "exclusive",
       .help = "leave the element itself out of its result",
       .default_value = false,
       .choices = {}},
      {.name = "op", .help = "the operator", .default_value = std::string("sum"), .choices = {"sum", "max", "min"}},
      segment_parameter(),
      tile_parameter(),
      team_parameter(),
      {.name = "totals",
       .help = "store the total of each tile, too (in variants that have them); needs --tile, and no segments",
       .default_value = false,
       .choices = {}},
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  std::string const& op = std::get<std::string>(map.at("op"));
  bool const totals = std::get<bool>(map.at("totals"));
  if (totals && std::get<std::int64_t>(map.at("tile")) == 0) {
    throw UserError("--totals without --tile (each variant chooses another tile); give --tile N");
  }
  if (totals && std::get<std::int64_t>(map.at("segment")) != 0) {
    throw UserError("--totals with segments (a tile may hold several); leave out one of the two");
  }
  return {.exclusive = std::get<bool>(map.at("exclusive")),
          .op = op == "max"   ? collective::OperatorKind::max
                : op == "min" ? collective::OperatorKind::min
                              : collective::OperatorKind::sum,
          .segment = static_cast<std::size_t>(std::get<std::int64_t>(map.at("segment"))),
          .tile = std::get<std::int64_t>(map.at("tile")),
          .team = std::get<std::int64_t>(map.at("team")),
          .totals = totals};
}

}  // namespace tessera::prefix_sum
