/// \file
/// Parameters of layernorm.

#include <string>
#include <utility>
#include <variant>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm {

std::vector<ParameterSpec> Layernorm::parameters() {
  auto const extent = [](std::string name, std::string help) -> ParameterSpec {
    return {.name = std::move(name),
            .help = std::move(help) + "; 0: from --size, the number of elements rows * hidden",
            .default_value = std::int64_t{0},
            .choices = {},
            .minimum = 0,
            .shapes_generated = true};
  };
  return {extent("rows", "rows of the generated x"),
          extent("hidden", "columns of the generated x: what a row is normalised over"), eps_parameter(),
          team_parameter()};
}

Layernorm::Parameters Layernorm::Parameters::from(ParameterMap const& map) {
  ParameterMap of_layer = map;
  of_layer["outputs"] = std::int64_t{1};
  LinearLayer const layer = LinearLayer::from(of_layer);  // checks eps
  return {.rows = layer.rows, .hidden = layer.hidden, .eps = layer.eps, .team = layer.team};
}

}  // namespace tessera::layernorm
