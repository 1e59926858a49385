/// \file
/// The table of broadcast_add's variants, in the order that --list shows, and its parameters.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::broadcast_add {

VariantRows mdrange();
VariantRows blocked();
VariantRows pointer();
VariantRows team_rows();
VariantRows vector();
VariantRows distributed();

App app() { return make_app<BroadcastAdd>({mdrange(), blocked(), pointer(), team_rows(), vector(), distributed()}); }

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
