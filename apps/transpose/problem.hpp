#pragma once
/// \file
/// transpose: out[c, r] = a[r, c].

#include <cstdint>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/matrix_problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::transpose {

struct Parameters {
  std::int64_t rows = 0;  ///< of generated input; 0: about square
  std::int64_t team = 0;  ///< threads; 0: the variant's choice

  [[nodiscard]] static Parameters from(ParameterMap const& map);
};

struct Transpose : MatrixProblem<Parameters> {
  static constexpr AppInfo info{.name = "transpose", .summary = "out[col, row] = a[row, col]"};
  static constexpr bool short_floats = true;

  [[nodiscard]] static std::vector<ParameterSpec> parameters();

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 1;

  /// out [cols, rows].
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    return {{input[0][1], input[0][0]}};
  }

  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    return {.bytes = 2 * static_cast<double>(count_of(input[0])) * static_cast<double>(size_of(dtype)), .flops = 0};
  }

  /// Nothing is computed.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 0; }

  /// On several ranks.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::rows}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::rows}; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                                    std::vector<ranks::Block> const& output_rows,
                                                                    ranks::Part const& part);

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::transpose
