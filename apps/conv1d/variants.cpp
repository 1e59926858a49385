/// \file
/// The table of conv1d's variants, in the order that --list shows, and its parameters.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

VariantRows plain();
VariantRows direct();
VariantRows single_team();
VariantRows halo();
VariantRows scratch_halo();
VariantRows zero_padded();
VariantRows async_halo();
VariantRows loader_threads();
VariantRows register_window();
VariantRows distributed();

App app() {
  return make_app<Conv1d>({plain(), direct(), single_team(), halo(), scratch_halo(), zero_padded(), async_halo(),
                           loader_threads(), register_window(), distributed()});
}

std::vector<ParameterSpec> Conv1d::parameters() {
  return {
      {.name = "kernel",
       .help = "elements of the generated k",
       .default_value = std::int64_t{4},
       .choices = {},
       .minimum = 1,
       .shapes_generated = true},
      {.name = "tile",
       .help = "elements of a tile (teams with a halo, and register_window); 0: the variant's choice",
       .default_value = std::int64_t{0},
       .choices = {},
       .minimum = 0,
       .maximum = 1 << 20,
       .sweep = true},
      team_parameter(),
  };
}

Conv1d::Parameters Conv1d::Parameters::from(ParameterMap const& map) {
  return {.kernel = std::get<std::int64_t>(map.at("kernel")),
          .tile = std::get<std::int64_t>(map.at("tile")),
          .team = std::get<std::int64_t>(map.at("team"))};
}

}  // namespace tessera::conv1d
