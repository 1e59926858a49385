#pragma once
/// \file
/// layernorm_linear_backward: the gradients of a linear layer on normalised rows, given the gradient of its output.
///
/// With xhat = (x - mean) / sqrt(variance + eps) of each row, ln = gamma * xhat + beta, y = w ln + bias and G = grad_y:
///
///     dbias[o] = sum_r G[r, o]                      dw[o, h] = sum_r G[r, o] ln[r, h]
///     q[r, h]  = sum_o G[r, o] w[o, h]              (the gradient of ln)
///     dbeta[h] = sum_r q[r, h]                      dgamma[h] = sum_r q[r, h] xhat[r, h]
///     g = q * gamma,  dx[r, h] = inv_std_r (g[r, h] - mean_h(g) - xhat[r, h] mean_h(g * xhat))

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/linear_layer.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::layernorm_linear_backward {

struct LayernormLinearBackward : LinearLayerProblem {
  static constexpr AppInfo info{.name = "layernorm_linear_backward",
                                .summary = "gradients of x, gamma, beta, w and bias of w layernorm(x) + bias",
                                .traffic = {.pattern = Traffic::Pattern::sums, .launches = 7}};

  /// x [R, H], gamma [H], beta [H], w [O, H], grad_y [R, O].
  template <class T, class Memory>
  struct Input {
    Array<T const**, Memory> x;
    Array<T const*, Memory> gamma;
    Array<T const*, Memory> beta;
    Array<T const**, Memory> w;
    Array<T const**, Memory> grad_y;
    Parameters parameters;

    static constexpr std::array<std::string_view, 5> names{"x", "gamma", "beta", "w", "grad_y"};
    static auto fields(auto& self) { return std::tie(self.x, self.gamma, self.beta, self.w, self.grad_y); }

    [[nodiscard]] std::size_t rows() const { return x.extent(0); }
    [[nodiscard]] std::size_t hidden() const { return x.extent(1); }
    [[nodiscard]] std::size_t outputs() const { return w.extent(0); }
  };

  /// dx [R, H], dgamma [H], dbeta [H], dw [O, H], dbias [O].
  template <class T, class Memory>
  struct Output {
    Array<T**, Memory> dx;
    Array<T*, Memory> dgamma;
    Array<T*, Memory> dbeta;
    Array<T**, Memory> dw;
    Array<T*, Memory> dbias;

    static constexpr std::array<std::string_view, 5> names{"dx", "dgamma", "dbeta", "dw", "dbias"};
    static auto fields(auto& self) { return std::tie(self.dx, self.dgamma, self.dbeta, self.dw, self.dbias); }
  };

  /// `size` is the number of multiply-adds of the layer itself, R H O.
  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    LinearLayer const layer = parameters.of_size(size);
    Shape const of_row{layer.x_shape()[1]};
    return {layer.x_shape(), of_row, of_row, layer.w_shape(), layer.y_shape()};
  }

  /// Throws UserError, naming both shapes, if the fields' extents do not match, or if rows have no elements.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    needs_layer(input[0], input[1], input[2], input[3]);
    needs_shape("grad_y", input[4], {input[0][0], input[3][0]},
                "x " + to_string(input[0]) + ", w " + to_string(input[3]),
                "one row per row of x, one column per row of w");
    return {input[0], input[1], input[2], input[3], {input[3][0]}};
  }

  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    double const rows = static_cast<double>(input[0][0]);
    double const hidden = static_cast<double>(input[0][1]);
    double const outputs = static_cast<double>(input[3][0]);
    double const elements = 2 * rows * hidden + 4 * hidden + 2 * outputs * hidden + outputs + rows * outputs;
    return {.bytes = elements * static_cast<double>(size_of(dtype)), .flops = 4 * rows * hidden * outputs};
  }

  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) {
    return {Split::rows, Split::whole, Split::whole, Split::whole, Split::rows};
  }
  /// All ranks have the gradients of the parameters.
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) {
    return {Split::rows, Split::whole, Split::whole, Split::whole, Split::whole};
  }

  /// Returns the length of the longest sum: over a row, over the outputs or over the rows.
  [[nodiscard]] static std::uint64_t terms(std::vector<Shape> const& input, Parameters const&) {
    return std::max({input[0][0], input[0][1], input[3][0]});
  }

  /// Assumes the worst order; see chain().
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    double const rows = static_cast<double>(input[0][0]);
    double const hidden = static_cast<double>(input[0][1]);
    double const outputs = static_cast<double>(input[3][0]);
    return chain({.row = hidden + 8, .q = outputs, .means = hidden, .columns = rows, .dw = rows, .dbias = rows});
  }

  /// Roundings in the longest chain of each part of a variant.
  struct Steps {
    double row;      ///< up to an xhat: a row's sum, and 8
    double q;        ///< products and sums over o
    double means;    ///< sums over h of g and g * xhat
    double columns;  ///< sums over r of q and q * xhat
    double dw;       ///< products and sums over r
    double dbias;    ///< sums over r
  };
  /// Returns the longest chain to any gradient. The chain to dx goes through xhat, q, its means (product, product,
  /// count, division) and the differences; to dgamma through xhat, q and a product; to dw through ln.
  [[nodiscard]] static double chain(Steps const& steps) {
    double const dx = steps.row + steps.q + steps.means + 10;
    double const dgamma = steps.row + steps.q + 1 + steps.columns;
    double const dw = steps.row + 2 + steps.dw;
    return std::max({dx, dgamma, dw, steps.dbias});
  }

  /// A value and a scale per element, and two more numbers for random data.
  static constexpr int reference_doubles = 4;
  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::layernorm_linear_backward
