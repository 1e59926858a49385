#pragma once
/// \file
/// layernorm_linear: y = w (gamma * (x - mean) / sqrt(variance + eps) + beta) + bias for each row of x.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/linear_layer.hpp>
#include <tessera/core/shared_by_rows.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::layernorm_linear {

struct LayernormLinear : LinearLayerProblem,
                         SharedByRows<Split::rows, Split::whole, Split::whole, Split::whole, Split::whole> {
  static constexpr int reference_doubles = 3;  ///< one is the offset for bfloat16 factors (float only)
  static constexpr bool bfloat16_bounds = true;
  static constexpr AppInfo info{.name = "layernorm_linear",
                                .summary = "y[r, o] = sum_h w[o, h] * layernorm(x)[r, h] + bias[o]",
                                .traffic = {.pattern = Traffic::Pattern::nothing}};

  /// x [R, H], gamma [H], beta [H], w [O, H], bias [O].
  template <class T, class Memory>
  struct Input {
    Array<T const**, Memory> x;
    Array<T const*, Memory> gamma;
    Array<T const*, Memory> beta;
    Array<T const**, Memory> w;
    Array<T const*, Memory> bias;
    Parameters parameters;

    static constexpr std::array<std::string_view, 5> names{"x", "gamma", "beta", "w", "bias"};
    static auto fields(auto& self) { return std::tie(self.x, self.gamma, self.beta, self.w, self.bias); }

    [[nodiscard]] std::size_t rows() const { return x.extent(0); }
    [[nodiscard]] std::size_t hidden() const { return x.extent(1); }
    [[nodiscard]] std::size_t outputs() const { return w.extent(0); }
  };

  /// y [R, O].
  template <class T, class Memory>
  using Output = OutputY<T**, Memory>;

  /// `size` is the number of multiply-adds, R H O.
  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    LinearLayer const layer = parameters.of_size(size);
    Shape const of_row{layer.x_shape()[1]};
    return {layer.x_shape(), of_row, of_row, layer.w_shape(), {layer.w_shape()[0]}};
  }

  /// Throws UserError, naming both shapes, if the fields' extents do not match, or if rows have no elements.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    needs_layer(input[0], input[1], input[2], input[3]);
    needs_shape("bias", input[4], {input[3][0]}, "w " + to_string(input[3]), "one for each row of w");
    return {{input[0][0], input[3][0]}};
  }

  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    double const rows = static_cast<double>(input[0][0]);
    double const hidden = static_cast<double>(input[0][1]);
    double const outputs = static_cast<double>(input[3][0]);
    double const elements = rows * hidden + 2 * hidden + outputs * hidden + outputs + rows * outputs;
    return {.bytes = elements * static_cast<double>(size_of(dtype)), .flops = 2 * rows * hidden * outputs};
  }

  /// Counts a row's sum, 8 for an xhat (verify/normalised_rows.hpp), 2 for ln, the products of an output, and its bias.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    return 2 * static_cast<double>(input[0][1]) + 11;
  }

  /// All sums are over a row: its mean, its variance, an output.
  [[nodiscard]] static std::uint64_t terms(std::vector<Shape> const& input, Parameters const&) { return input[0][1]; }

  /// Returns the maximum number of roundings before a variant rounds ln to bfloat16. These roundings may decide to
  /// which of two neighbouring bfloat16 numbers ln is rounded.
  [[nodiscard]] static double steps_to_ln(std::size_t hidden) { return 64 + static_cast<double>(hidden) / 8; }

  static constexpr bool rows_apart = true;
  static constexpr std::size_t reference_rows = 64;  ///< rows per part; w is converted to doubles once per part

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::layernorm_linear
