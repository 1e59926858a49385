/// \file
/// Parameters of pooling.

#include <string>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::pooling {

std::vector<ParameterSpec> Pooling::parameters() {
  return {
      {.name = "window",
       .help = "elements of a window; it ends at the output's own element",
       .default_value = std::int64_t{3},
       .choices = {},
       .minimum = 1},
      {.name = "op",
       .help = "what becomes of a window: sum, mean (of the elements present) or max",
       .default_value = std::string("sum"),
       .choices = {"sum", "mean", "max"}},
      {.name = "tile",
       .help = "elements of a tile (scratch_halo); 0: the variant's choice",
       .default_value = std::int64_t{0},
       .choices = {},
       .minimum = 0,
       .maximum = 1 << 20,
       .sweep = true},
      team_parameter(),
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  std::string const& op = std::get<std::string>(map.at("op"));
  return {
      .window = std::get<std::int64_t>(map.at("window")),
      .op = op == "max" ? PoolingOp::max : (op == "mean" ? PoolingOp::mean : PoolingOp::sum),
      .tile = std::get<std::int64_t>(map.at("tile")),
      .team = std::get<std::int64_t>(map.at("team")),
  };
}

void Pooling::check(Parameters const& parameters, DType dtype) {
  if (dtype == DType::int32 && parameters.op == PoolingOp::mean) {
    throw UserError("op mean of int32 (a mean of integers is no integer); use dtype float or double, or op sum");
  }
}

}  // namespace tessera::pooling
