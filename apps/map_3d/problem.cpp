/// \file
/// The shapes of map_3d that --size stands for.

#include <string>
#include <vector>

#include "problem.hpp"

#include <tessera/core/matrix_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_3d {

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

}  // namespace tessera::map_3d
