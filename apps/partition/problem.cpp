/// \file
/// Parameters of partition.

#include <string>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

std::vector<ParameterSpec> Partition::parameters() {
  return {
      {.name = "pivot",
       .help = "elements less than it go left, all others right",
       .default_value = 0.0,
       .choices = {},
       // Infinities and NaN are valid: nothing is less than -inf or NaN, and only +inf and NaN are not less than +inf.
       .must_be_finite = false},
      {.name = "right",
       .help = "the order of the right elements; reversed: as cub::DevicePartition leaves them",
       .default_value = std::string("kept"),
       .choices = {"kept", "reversed"}},
      segment_parameter(),
      tile_parameter(),
      team_parameter(),
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  return {.pivot = std::get<double>(map.at("pivot")),
          .reversed = std::get<std::string>(map.at("right")) == "reversed",
          .segment = static_cast<std::size_t>(std::get<std::int64_t>(map.at("segment"))),
          .tile = std::get<std::int64_t>(map.at("tile")),
          .team = std::get<std::int64_t>(map.at("team"))};
}

}  // namespace tessera::partition
