/// \file
/// The table of partition's variants, in the order that --list shows, and its parameters.

#include <string>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

VariantRows scan_scatter();
VariantRows team_scan();
VariantRows lane_scan();
VariantRows lane_votes();
VariantRows reduce_then_scatter();
VariantRows look_back();
VariantRows look_back_reversed();
VariantRows compact();
VariantRows distributed();
VariantRows distributed_compact();

App app() {
  return make_app<Partition>({scan_scatter(), team_scan(), lane_scan(), lane_votes(), reduce_then_scatter(),
                              look_back(), look_back_reversed(), compact(), distributed(), distributed_compact()});
}

std::vector<ParameterSpec> Partition::parameters() {
  return {
      {.name = "pivot",
       .help = "elements less than it go left, all others right",
       .default_value = 0.0,
       .choices = {},
       // An infinity splits data, off -inf, which is not less than it, or off +inf; and nothing is less than a NaN.
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
