#pragma once
/// \file
/// axis_sum: sums of a matrix along an axis, out[r] = sum_c a[r, c] (axis 1) or out[c] = sum_r a[r, c] (axis 0).

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tessera/collective/accumulator.hpp>
#include <tessera/core/balanced.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/matrix_problem.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::axis_sum {

struct Parameters {
  std::int64_t axis = 1;
  std::int64_t rows = 0;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {{&Parameters::axis,
             number_parameter("axis", "axis to sum over: 1 gives one sum per row, 0 one per column", 0, 1)},
            {&Parameters::rows, rows_parameter()},
            {&Parameters::team, team_parameter()}};
  }
};

struct AxisSum : MatrixProblem<Parameters> {
  static constexpr AppInfo info{.name = "axis_sum",
                                .summary = "out[r] = sum_c a[r, c] (--axis 1), out[c] = sum_r a[r, c] (--axis 0)",
                                .traffic = {.pattern = Traffic::Pattern::nothing}};

  static constexpr bool short_floats = true;

  static constexpr std::array data = data_kinds;

  /// out [rows] (axis 1) or [cols] (axis 0).
  template <class T, class Memory>
  using Output = SingleOutput<T*, Memory>;

  /// Exact: the terms of core/balanced.hpp.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const& parameters) {
    if (draw.data != DataKind::exact) return drawn<T>(draw);
    std::size_t const cols = draw.shapes->at(0)[1];
    std::size_t const row = draw.index / cols;
    std::size_t const col = draw.index % cols;
    return parameters.axis == 1 ? exact_term<T>(draw, row, col) : exact_term<T>(draw, col, row);
  }

  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const& parameters) {
    return {{input[0][parameters.axis == 1 ? 0 : 1]}};
  }

  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const& parameters, DType dtype) {
    double const n = static_cast<double>(count_of(input[0]));
    double const sums = static_cast<double>(count_of(output_shapes(input, parameters)[0]));
    return {.bytes = (n + sums) * static_cast<double>(size_of(dtype)), .flops = n};
  }

  /// Assumes the worst order: one addition after the other.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const& parameters) {
    return static_cast<double>(input[0][parameters.axis == 1 ? 1 : 0]);
  }

  /// Several ranks share the matrix by rows. Sums of rows are split like the rows; all ranks have the sums of columns.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::rows}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const& parameters) {
    return {parameters.axis == 1 ? Split::rows : Split::whole};
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                                    ranks::Part const& part);

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

using collective::Accumulator;

/// Throws Skip if the run's axis is not the variant's axis.
inline void needs_axis(AxisSum::Parameters const& parameters, std::int64_t axis, std::string_view variant) {
  if (parameters.axis == axis) return;
  throw Skip(std::string(variant) + " is for --axis " + std::to_string(axis) + " (sums of each " +
             (axis == 1 ? "row)" : "column)"));
}

}  // namespace tessera::axis_sum
