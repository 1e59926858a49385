/// \file
/// The table of bias_add's variants, in the order that --list shows, and its parameters.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::bias_add {

VariantRows mdrange();
VariantRows blocked();
VariantRows held_bias();
VariantRows vector();
VariantRows distributed();

App app() { return make_app<BiasAdd>({mdrange(), blocked(), held_bias(), vector(), distributed()}); }

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
