#pragma once
/// \file
/// bias_add: y[row, col] = x[row, col] + bias[col].

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/collective/operators.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/matrix_problem.hpp>
#include <tessera/core/shared_by_rows.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::bias_add {

struct BiasAdd : MatrixProblem<MatrixParameters>, SharedByRows<Split::rows, Split::whole> {
  static constexpr AppInfo info{.name = "bias_add",
                                .summary = "y[row, col] = x[row, col] + bias[col]",
                                .traffic = {.pattern = Traffic::Pattern::nothing}};
  static constexpr bool short_floats = true;

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 1;

  /// x [rows, cols], bias [cols].
  template <class T, class Memory>
  struct Input {
    Array<T const**, Memory> x;
    Array<T const*, Memory> bias;
    Parameters parameters;

    static constexpr std::array<std::string_view, 2> names{"x", "bias"};
    static auto fields(auto& self) { return std::tie(self.x, self.bias); }
  };

  /// y [rows, cols].
  template <class T, class Memory>
  using Output = OutputY<T**, Memory>;

  /// `size` is the number of elements of x.
  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    Shape const x = matrix_shape(size, parameters.rows);
    return {x, {x[1]}};
  }
  /// Throws UserError unless the bias has an element for each column.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    if (input[0][1] != input[1][0]) {
      throw UserError("x has shape " + to_string(input[0]) + " and bias " + to_string(input[1]) +
                      " (each column has its own bias); make the bias as long as a row of x");
    }
    return {input[0]};
  }

  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    double const n = static_cast<double>(count_of(input[0]));
    double const cols = static_cast<double>(input[1][0]);
    return {.bytes = (2 * n + cols) * static_cast<double>(size_of(dtype)), .flops = n};
  }

  /// One addition.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 1; }

  static constexpr bool rows_apart = true;

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// Adds the bias to an element, in every variant; integers wrap.
template <class T>
using Add = collective::Sum<T>;

}  // namespace tessera::bias_add
