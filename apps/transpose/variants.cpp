/// \file
/// The table of transpose's variants, in the order that --list shows, and its parameters.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transpose {

VariantRows naive();
VariantRows layout_left();
VariantRows layout_stride();
VariantRows scratch_tile();
VariantRows scratch_padded();
VariantRows vector();
VariantRows distributed();

App app() {
  return make_app<Transpose>(
      {naive(), layout_left(), layout_stride(), scratch_tile(), scratch_padded(), vector(), distributed()});
}

std::vector<ParameterSpec> Transpose::parameters() {
  return {
      rows_parameter(),
      team_parameter(),
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  return {.rows = std::get<std::int64_t>(map.at("rows")), .team = std::get<std::int64_t>(map.at("team"))};
}

}  // namespace tessera::transpose
