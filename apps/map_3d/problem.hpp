#pragma once
/// \file
/// map_3d: out[plane, row, col] = a[plane, row, col] + c.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tessera/collective/operators.hpp>
#include <tessera/core/constant_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/matrix_shape.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/types.hpp>

namespace tessera::map_3d {

/// One addition per element.
struct Map3d : ConstantProblem {
  static constexpr AppInfo info{.name = "map_3d",
                                .summary = "out[plane, row, col] = a[plane, row, col] + c",
                                .traffic = {.pattern = Traffic::Pattern::nothing}};

  struct Parameters {
    double c = 10;
    std::int64_t planes = 0;
    std::int64_t rows = 0;
    std::int64_t team = 0;

    [[nodiscard]] static MemberSpecs<Parameters> specs() {
      return {{&Parameters::c, constant_parameter()},
              {&Parameters::planes,
               extent_parameter("planes",
                                "planes of the generated array, each of --size / planes elements; 0: about a cube")},
              {&Parameters::rows, rows_parameter("rows of each generated plane; 0: about square")},
              {&Parameters::team, team_parameter()}};
    }
  };

  /// a [planes, rows, cols].
  template <class T, class Memory>
  using Input = SingleInput<T const***, Memory, Parameters>;

  /// out [planes, rows, cols].
  template <class T, class Memory>
  using Output = SingleOutput<T***, Memory>;

  /// Planes have size / planes elements, rounded down; matrix_shape chooses their extents. Throws UserError if there
  /// are more planes than elements, or more rows than elements of a plane. Example: 2^12 -> [16, 16, 16]; 100 -> [4, 5,
  /// 5]; 100 in 3 planes of 4 rows -> [3, 4, 8].
  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
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

  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    return {input[0]};
  }

  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const&) {
    return drawn<T>(draw);
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

using collective::AddConstant;

}  // namespace tessera::map_3d
