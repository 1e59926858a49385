/// \file
/// The table of softmax's variants, in the order that --list shows, and its parameters.

#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/app/make_app.hpp>
#include <tessera/core/parameters.hpp>

namespace tessera::softmax {

VariantRows three_pass();
VariantRows online();
VariantRows team_per_row();
VariantRows lanes_per_row();
VariantRows buffer_reduction();
VariantRows columns();
VariantRows register_columns();

App app() {
  return make_app<Softmax>(
      {three_pass(), online(), team_per_row(), lanes_per_row(), buffer_reduction(), columns(), register_columns()});
}

std::vector<ParameterSpec> Softmax::parameters() {
  ParameterSpec rows = rows_parameter();
  rows.help = "rows of the generated matrix, of --size / rows columns; 0: one with --axis all, else about square";
  return {
      {.name = "axis",
       .help = "what sums up to 1: all elements, each row (rows) or each column (cols)",
       .default_value = std::string("all"),
       .choices = {"all", "rows", "cols"}},
      rows,
      team_parameter(),
  };
}

Softmax::Parameters Softmax::Parameters::from(ParameterMap const& map) {
  auto const& axis = std::get<std::string>(map.at("axis"));
  return {.axis = axis == "all"    ? Axis::all
                  : axis == "rows" ? Axis::rows
                                   : Axis::cols,
          .rows = std::get<std::int64_t>(map.at("rows")),
          .team = std::get<std::int64_t>(map.at("team"))};
}

double Softmax::rounding_steps(std::vector<Shape> const& input, Parameters const& parameters) {
  switch (parameters.axis) {
    case Axis::rows: return static_cast<double>(input[0][1]);
    case Axis::cols: return static_cast<double>(input[0][0]);
    case Axis::all: break;
  }
  return static_cast<double>(count_of(input[0]));
}

}  // namespace tessera::softmax
