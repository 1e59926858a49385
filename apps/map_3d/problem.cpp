/// \file
/// Parameters of map_3d, the shapes that --size stands for.

#include <string>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/constant.hpp>
#include <tessera/core/matrix_shape.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_3d {

std::vector<ParameterSpec> Map3d::parameters() {
  return {
      {.name = "c", .help = "the constant that is added", .default_value = 10.0, .choices = {}},
      {.name = "planes",
       .help = "planes of the generated array, of --size / planes elements; 0: about as many as a cube has",
       .default_value = std::int64_t{0},
       .choices = {},
       .minimum = 0,
       .shapes_generated = true},
      {.name = "rows",
       .help = "rows of each generated plane; 0: about square",
       .default_value = std::int64_t{0},
       .choices = {},
       .minimum = 0,
       .shapes_generated = true},
      team_parameter(),
  };
}

Map3d::Parameters Map3d::Parameters::from(ParameterMap const& map) {
  return {.c = std::get<double>(map.at("c")),
          .planes = std::get<std::int64_t>(map.at("planes")),
          .rows = std::get<std::int64_t>(map.at("rows")),
          .team = std::get<std::int64_t>(map.at("team"))};
}

std::vector<Shape> Map3d::input_shapes(std::size_t size, Parameters const& parameters) {
  auto planes = static_cast<std::size_t>(parameters.planes);
  if (planes > size && size > 0) {
    throw UserError("--planes " + std::to_string(planes) + " is more than --size " + std::to_string(size) +
                    " (a plane has at least one element); choose fewer planes or a larger size");
  }
  if (planes == 0) {
    // A power of two if the size is a power of two, as in matrix_shape.
    bool const is_power = (size & (size - 1)) == 0;
    planes = size > 0 ? 1 : 0;
    for (std::size_t more = planes; more > 0 && more * more * more <= size; more = is_power ? 2 * more : more + 1) {
      planes = more;
    }
  }
  Shape const plane = matrix_shape(planes > 0 ? size / planes : 0, parameters.rows);
  return {{planes, plane[0], plane[1]}};
}

void Map3d::check(Parameters const& parameters, DType dtype) { check_constant("c", parameters.c, dtype); }

}  // namespace tessera::map_3d
