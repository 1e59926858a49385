#pragma once
/// \file
/// map_2d: out[row, col] = a[row, col] + c.

#include <cstdint>
#include <vector>

#include <tessera/collective/operators.hpp>
#include <tessera/core/constant_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/matrix_problem.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/types.hpp>

namespace tessera::map_2d {

struct Parameters {
  double c = 10;
  std::int64_t rows = 0;
  std::int64_t tile = 0;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {{&Parameters::c, constant_parameter()},
            {&Parameters::rows, rows_parameter()},
            {&Parameters::tile,
             tile_parameter("rows and columns of a tile (team_tiles, team_guarded); 0: the variant's choice", 1 << 10)},
            {&Parameters::team, team_parameter()}};
  }
};

/// One addition per element.
struct Map2d : MatrixProblem<Parameters>, ConstantProblem {
  static constexpr AppInfo info{.name = "map_2d",
                                .summary = "out[row, col] = a[row, col] + c",
                                .traffic = {.pattern = Traffic::Pattern::nothing}};

  /// out [rows, cols].
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    return {input[0]};
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

using collective::AddConstant;

}  // namespace tessera::map_2d
