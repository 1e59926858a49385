/// \file
/// The table of dot's variants, in the order that --list shows, and its parameters.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::dot {

VariantRows range_reduce();
VariantRows thread_zero();
VariantRows team_tree();
VariantRows sequential_addressing();
VariantRows team_reduce();
VariantRows vector_reduce();
VariantRows lane_reduce();
VariantRows two_stage();
VariantRows kernels();
VariantRows distributed();

App app() {
  return make_app<Dot>({range_reduce(), thread_zero(), team_tree(), sequential_addressing(), team_reduce(),
                        vector_reduce(), lane_reduce(), two_stage(), kernels(), distributed()});
}

std::vector<ParameterSpec> Dot::parameters() {
  return {
      team_parameter(),
  };
}

Parameters Parameters::from(ParameterMap const& map) { return {.team = std::get<std::int64_t>(map.at("team"))}; }

}  // namespace tessera::dot
