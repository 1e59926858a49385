#pragma once
/// \file
/// layernorm: y = gamma * (x - mean) / sqrt(variance + eps) + beta for each row of x.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/linear_layer.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/shared_by_rows.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::layernorm {

struct Layernorm : LinearLayerProblem, SharedByRows<Split::rows, Split::whole, Split::whole> {
  static constexpr AppInfo info{.name = "layernorm",
                                .summary = "y[r, h] = gamma[h] * (x[r, h] - mean_r) / sqrt(var_r + eps) + beta[h]",
                                .traffic = {.pattern = Traffic::Pattern::nothing}};
  static constexpr bool short_floats = true;

  struct Parameters {
    std::int64_t rows = 0;
    std::int64_t hidden = 0;
    double eps = 1e-5;
    std::int64_t team = 0;

    [[nodiscard]] static MemberSpecs<Parameters> specs() {
      std::string const from_size = "; 0: from --size = rows * hidden";
      return {{&Parameters::rows, rows_parameter("rows of the generated x" + from_size)},
              {&Parameters::hidden,
               extent_parameter("hidden", "columns of the generated x, over which each row is normalised" + from_size)},
              {&Parameters::eps, eps_parameter()},
              {&Parameters::team, team_parameter()}};
    }

    /// Returns these parameters as parameters of a linear layer with one output.
    [[nodiscard]] LinearLayer layer() const {
      return {.rows = rows, .hidden = hidden, .outputs = 1, .eps = eps, .team = team};
    }
    /// Throws UserError unless eps > 0.
    void check() const { layer().check(); }
  };
  /// Throws UserError for integers, and for an eps that the dtype cannot hold.
  static void check(Parameters const& parameters, DType dtype) { needs_dtype(parameters.layer(), dtype); }

  /// x [R, H], gamma [H], beta [H].
  template <class T, class Memory>
  struct Input {
    Array<T const**, Memory> x;
    Array<T const*, Memory> gamma;
    Array<T const*, Memory> beta;
    Parameters parameters;

    static constexpr std::array<std::string_view, 3> names{"x", "gamma", "beta"};
    static auto fields(auto& self) { return std::tie(self.x, self.gamma, self.beta); }
  };

  /// y [R, H].
  template <class T, class Memory>
  using Output = OutputY<T**, Memory>;

  /// `size` is the number of elements of x, R H. If one extent is given, the other is the quotient. If none is given,
  /// hidden is the largest power of two that is at most the square root of `size`, and rows is the quotient. Example:
  /// 2^24 -> 4096 rows of 4096.
  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    LinearLayer const layer = parameters.layer().of_size(size);
    Shape const of_row{layer.x_shape()[1]};
    return {layer.x_shape(), of_row, of_row};
  }

  /// Throws UserError, naming both shapes, if the fields' extents do not match, or if rows have no elements.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    needs_layer(input[0], input[1], input[2], {0, input[0][1]});
    return {input[0]};
  }

  /// Returns the length of the longest sum: over a row.
  [[nodiscard]] static std::uint64_t terms(std::vector<Shape> const& input, Parameters const&) { return input[0][1]; }

  /// 8 operations per element: the sum, the deviation's square and its sum, xhat, and ln.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    double const elements = static_cast<double>(count_of(input[0]));
    double const of_row = static_cast<double>(input[0][1]);
    return {.bytes = (2 * elements + 2 * of_row) * static_cast<double>(size_of(dtype)), .flops = 8 * elements};
  }

  /// Counts a row's sum, 8 for an xhat (verify/normalised_rows.hpp), and 2 for y. The sum is made one element after the
  /// other, or by lanes and a few merges, which count for more if a row is short.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    return static_cast<double>(input[0][1]) + 48;
  }

  static constexpr bool rows_apart = true;

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::layernorm
