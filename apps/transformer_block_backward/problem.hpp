#pragma once
/// \file
/// transformer_block_backward: the gradients of x and of all parameters of a block, given the gradient of its output.
///
/// With the block's stages (transformer_block/problem.hpp), ln = layernorm(x), q, k, v, mean = attention(q, k, v),
/// a = x + mean wo^T + bo, ln' = layernorm(a), h = ln' w1^T + b1, u = gelu(h), y = a + u w2^T + b2, and G = grad_y:
///
///     of a layer c = b w^T + bias:  db = dc w,  dw = dc^T b,  dbias = the column sums of dc
///     of y = a + ...:               da = G + the gradient through the MLP;  dx = da + the gradient through attention
///     of gelu:                      dh = du (Phi(h) + h phi(h)), the normal distribution's integral and density
///     of a layernorm:               dgamma = sum_r dln xhat,  dbeta = sum_r dln,  and with g = dln gamma
///                                   inv_std (g - mean(g) - xhat mean(g xhat))
///     of a head, p = softmax:       dv_j = sum_i p_ij dmean_i,  ds_ij = p_ij (dmean_i v_j - dmean_i mean_i),
///                                   dq_i = scale sum_j ds_ij k_j,  dk_j = scale sum_i ds_ij q_i

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/transformer_block.hpp>
#include <tessera/core/types.hpp>

namespace tessera::transformer_block_backward {

struct TransformerBlockBackward : TransformerBlockProblem {
  static constexpr AppInfo info{.name = "transformer_block_backward",
                                .summary = "gradients of x and all parameters of a transformer block"};
  static constexpr std::size_t grad_y_ = count_;  ///< position of grad_y

  /// The fields of a block, and grad_y [batch, tokens, d_model].
  template <class T, class Memory>
  struct Input : TransformerBlockProblem::Input<T, Memory> {
    using Block = TransformerBlockProblem::Input<T, Memory>;
    Array<T const***, Memory> grad_y;

    static constexpr std::array<std::string_view, count_ + 1> names{"x",     "gamma1", "beta1", "wq", "bq", "wk",
                                                                    "bk",    "wv",     "bv",    "wo", "bo", "gamma2",
                                                                    "beta2", "w1",     "b1",    "w2", "b2", "grad_y"};
    static auto fields(auto& self) { return std::tuple_cat(Block::fields(self), std::tie(self.grad_y)); }
  };

  /// The gradient of each field of a block, in its shape.
  template <class T, class Memory>
  struct Output {
    using Vector = Array<T*, Memory>;
    using Matrix = Array<T**, Memory>;
    Array<T***, Memory> dx;
    Vector dgamma1;
    Vector dbeta1;
    Matrix dwq;
    Vector dbq;
    Matrix dwk;
    Vector dbk;
    Matrix dwv;
    Vector dbv;
    Matrix dwo;
    Vector dbo;
    Vector dgamma2;
    Vector dbeta2;
    Matrix dw1;
    Vector db1;
    Matrix dw2;
    Vector db2;

    static constexpr std::array<std::string_view, count_> names{"dx",     "dgamma1", "dbeta1", "dwq", "dbq", "dwk",
                                                                "dbk",    "dwv",     "dbv",    "dwo", "dbo", "dgamma2",
                                                                "dbeta2", "dw1",     "db1",    "dw2", "db2"};
    static auto fields(auto& self) {
      return std::tie(self.dx, self.dgamma1, self.dbeta1, self.dwq, self.dbq, self.dwk, self.dbk, self.dwv, self.dbv,
                      self.dwo, self.dbo, self.dgamma2, self.dbeta2, self.dw1, self.db1, self.dw2, self.db2);
    }
  };

  /// As of transformer_block; grad_y has the shape of x.
  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    std::vector<Shape> shapes = TransformerBlockProblem::input_shapes(size, parameters);
    shapes.push_back(shapes[x_]);
    return shapes;
  }

  /// Throws UserError as needs_block() does, and if grad_y does not have the shape of x.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const& parameters) {
    needs_block(input, parameters);
    needs_shape("grad_y", input[grad_y_], input[x_], "x " + to_string(input[x_]), "one gradient per element of y");
    return {input.begin(), input.begin() + count_};
  }

  /// As of transformer_block; gradients are uniform, and as likely positive as negative.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const& parameters) {
    return draw.field == grad_y_ ? drawn<T>(draw) : TransformerBlockProblem::element<T>(draw, parameters);
  }

  /// Each field read and its gradient written once. Multiply-adds: the forward stages without the last product, which
  /// no gradient needs; two products for each product; and for each pair of a query and a key that it sees, 4 d_model
  /// forward (q k, p v) and 8 d_model backward.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const& parameters, DType dtype) {
    double elements = wide_count_of(input[grad_y_]);
    for (std::size_t i = 0; i < count_; ++i) elements += 2 * wide_count_of(input[i]);
    double const tokens = static_cast<double>(input[x_][1]);
    double const d = static_cast<double>(input[x_][2]);
    double const d_ff = static_cast<double>(input[w1_][0]);
    double const rows = static_cast<double>(input[x_][0]) * tokens;
    double const keys = parameters.causal ? (tokens + 1) / 2 : tokens;
    return {.bytes = elements * static_cast<double>(size_of(dtype)),
            .flops = rows * (24 * d * d + 10 * d * d_ff + 12 * keys * d)};
  }

  /// The longest chain of one stage of any variant: sums of a row, of a product, over the keys or over the rows. The
  /// error of the stages before enters through the scale (reference.cpp).
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    return std::max(static_cast<double>(terms_of(input)) + 32, 64.0);
  }

  /// Returns the longest sum: over a row, the hidden units or the rows.
  [[nodiscard]] static std::uint64_t terms(std::vector<Shape> const& input, Parameters const&) {
    return terms_of(input);
  }

  static constexpr int reference_doubles = 3;  ///< a value and two scales
  /// All stages of all rows exist at once, forward and backward. An element takes a wide value, the size of its error
  /// and four probes; of the input a value, a size and one probe.
  [[nodiscard]] static double reference_temporaries(std::vector<Shape> const& input, DType dtype) {
    double const d = static_cast<double>(input[x_][2]);
    double const d_ff = static_cast<double>(input[w1_][0]);
    double const rows = static_cast<double>(input[x_][0]) * static_cast<double>(input[x_][1]);
    double const value = dtype == DType::float64 ? sizeof(long double) : sizeof(double);
    double const of_input = 3 * rows * d + 4 * d * d + 2 * d * d_ff;
    double const of_stages = 17 * rows * d + 3 * rows * d_ff + d * d_ff;
    return of_input * (value + 2 * sizeof(double)) + of_stages * (value + 5 * sizeof(double));
  }
  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);

 private:
  [[nodiscard]] static std::uint64_t terms_of(std::vector<Shape> const& input) {
    return std::max({input[x_][0] * input[x_][1], input[x_][2], input[w1_][0]});
  }
};

}  // namespace tessera::transformer_block_backward
