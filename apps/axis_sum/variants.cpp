/// \file
/// The table of axis_sum's variants, in the order that --list shows, and its parameters.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::axis_sum {

VariantRows team_reduce();
VariantRows tree();
VariantRows tree_pairs();
VariantRows team_per_row();
VariantRows lanes_per_row();
VariantRows split_rows();
VariantRows columns_two_stage();
VariantRows columns_atomic();
VariantRows kernels();
VariantRows distributed();

App app() {
  return make_app<AxisSum>({team_reduce(), tree(), tree_pairs(), team_per_row(), lanes_per_row(), split_rows(),
                            columns_two_stage(), columns_atomic(), kernels(), distributed()});
}

std::vector<ParameterSpec> AxisSum::parameters() {
  return {
      {.name = "axis",
       .help = "the axis that is summed over: 1 gives a sum for each row, 0 one for each column",
       .default_value = std::int64_t{1},
       .choices = {},
       .minimum = 0,
       .maximum = 1},
      rows_parameter(),
      team_parameter(),
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  return {.axis = std::get<std::int64_t>(map.at("axis")),
          .rows = std::get<std::int64_t>(map.at("rows")),
          .team = std::get<std::int64_t>(map.at("team"))};
}

}  // namespace tessera::axis_sum
