#pragma once
/// \file
/// transformer_block: a = x + attention(layernorm(x)), y = a + mlp(layernorm(a)), as in the GPT-2 model.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/linear_layer.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::transformer_block {

struct TransformerBlock {
  static constexpr AppInfo info{.name = "transformer_block",
                                .summary = "a = x + attention(layernorm(x)); y = a + mlp(layernorm(a))",
                                .traffic = {.pattern = Traffic::Pattern::sums, .launches = 15, .times = 2}};

  struct Parameters {
    std::int64_t heads = 0;
    bool causal = true;
    double eps = 1e-5;
    std::int64_t batch = 0;
    std::int64_t tokens = 0;
    std::int64_t d_model = 0;
    std::int64_t d_ff = 0;
    std::int64_t team = 0;

    [[nodiscard]] static MemberSpecs<Parameters> specs() {
      constexpr double most = 1LL << 40;
      return {
          {&Parameters::heads, number_parameter("heads", "heads; 0: one per 64 columns of x", 0, 1 << 20)},
          {&Parameters::causal, {.name = "causal", .help = "each token sees only itself and the tokens before it"}},
          {&Parameters::eps, eps_parameter()},
          {&Parameters::batch,
           extent_parameter("batch", "sequences of the generated x; 0: as many as --size fills", 0, most)},
          {&Parameters::tokens,
           extent_parameter("tokens", "tokens of a generated sequence; 0: up to 2048, from --size", 0, most)},
          {&Parameters::d_model,
           extent_parameter("d-model", "columns of the generated x; 0: from --size = batch * tokens * d_model^2", 0,
                            most)},
          {&Parameters::d_ff, extent_parameter("d-ff", "hidden units of the generated MLP; 0: 4 * d_model", 0, most)},
          {&Parameters::team, team_parameter()}};
    }

    /// Throws UserError if eps is not positive.
    void check() const { LinearLayer{.eps = eps}.check(); }

    /// Returns the number of heads for rows of `d` elements.
    [[nodiscard]] std::size_t heads_of(std::size_t d) const {
      return heads > 0 ? static_cast<std::size_t>(heads) : std::max<std::size_t>(1, d / 64);
    }
  };

  /// Throws UserError for integers, and if the dtype cannot hold eps.
  static void check(Parameters const& parameters, DType dtype) { needs_dtype({.eps = parameters.eps}, dtype); }

  /// Positions of the fields.
  enum Field : std::size_t {
    x_,
    gamma1_,
    beta1_,
    wq_,
    bq_,
    wk_,
    bk_,
    wv_,
    bv_,
    wo_,
    bo_,
    gamma2_,
    beta2_,
    w1_,
    b1_,
    w2_,
    b2_,
    count_
  };

  /// x [batch, tokens, d_model]; gammas, betas and biases one per row of their matrix or column of x; wq, wk, wv, wo
  /// [d_model, d_model]; w1 [d_ff, d_model]; w2 [d_model, d_ff]. A layer is a -> a w^T + b.
  template <class T, class Memory>
  struct Input {
    using Vector = Array<T const*, Memory>;
    using Matrix = Array<T const**, Memory>;
    Array<T const***, Memory> x;
    Vector gamma1;
    Vector beta1;
    Matrix wq;
    Vector bq;
    Matrix wk;
    Vector bk;
    Matrix wv;
    Vector bv;
    Matrix wo;
    Vector bo;
    Vector gamma2;
    Vector beta2;
    Matrix w1;
    Vector b1;
    Matrix w2;
    Vector b2;
    Parameters parameters;

    static constexpr std::array<std::string_view, count_> names{"x",     "gamma1", "beta1", "wq", "bq", "wk",
                                                                "bk",    "wv",     "bv",    "wo", "bo", "gamma2",
                                                                "beta2", "w1",     "b1",    "w2", "b2"};
    static auto fields(auto& self) {
      return std::tie(self.x, self.gamma1, self.beta1, self.wq, self.bq, self.wk, self.bk, self.wv, self.bv, self.wo,
                      self.bo, self.gamma2, self.beta2, self.w1, self.b1, self.w2, self.b2);
    }

    [[nodiscard]] std::size_t sequences() const { return x.extent(0); }
    [[nodiscard]] std::size_t tokens() const { return x.extent(1); }
    [[nodiscard]] std::size_t rows() const { return x.extent(0) * x.extent(1); }
    [[nodiscard]] std::size_t d_model() const { return x.extent(2); }
    [[nodiscard]] std::size_t d_ff() const { return w1.extent(0); }
    [[nodiscard]] std::size_t heads() const { return parameters.heads_of(d_model()); }
    [[nodiscard]] std::size_t d_head() const { return d_model() / heads(); }
    /// Returns the factor of the scores, 1 / sqrt(d_head).
    [[nodiscard]] double score_scale() const { return 1 / std::sqrt(static_cast<double>(d_head())); }
  };

  /// y [batch, tokens, d_model].
  template <class T, class Memory>
  struct Output {
    Array<T***, Memory> y;

    static constexpr std::array<std::string_view, 1> names{"y"};
    static auto fields(auto& self) { return std::tie(self.y); }
  };

  /// `size` is batch * tokens * d_model^2. d_model is the largest power of two up to its cube root, and a sequence has
  /// up to 2048 tokens. Example: 2^30 -> [1, 1024, 1024]; 2^34 with d_model 1024 -> [8, 2048, 1024].
  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    auto const given = [](std::int64_t extent) { return static_cast<std::size_t>(extent); };
    std::size_t d = given(parameters.d_model);
    if (d == 0) d = std::bit_floor(std::max<std::size_t>(1, root_of(size, 3)));
    std::size_t const rows = std::max<std::size_t>(1, size / d / d);
    std::size_t const rows_of_sequence =
        std::max<std::size_t>(1, rows / std::max<std::size_t>(1, given(parameters.batch)));
    std::size_t const tokens =
        parameters.tokens > 0 ? given(parameters.tokens) : std::min<std::size_t>(2048, rows_of_sequence);
    std::size_t batch = parameters.batch > 0 ? given(parameters.batch) : std::max<std::size_t>(1, rows / tokens);
    if (size == 0) batch = 0;
    std::size_t const hidden = parameters.d_ff > 0 ? given(parameters.d_ff) : 4 * d;
    return shapes(batch, tokens, d, hidden);
  }

  /// Returns the shapes of all fields.
  [[nodiscard]] static std::vector<Shape> shapes(std::size_t batch, std::size_t tokens, std::size_t d,
                                                 std::size_t d_ff) {
    return {{batch, tokens, d}, {d},    {d},       {d, d}, {d}, {d, d}, {d}, {d, d}, {d}, {d, d}, {d}, {d}, {d},
            {d_ff, d},          {d_ff}, {d, d_ff}, {d}};
  }

  /// Throws UserError, naming both shapes, if a field's extents do not match those of x and w1, if rows have no
  /// elements, or if they are not divisible by the heads.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const& parameters) {
    Shape const& x = input[x_];
    std::size_t const d = x[2];
    if (d == 0) {
      throw UserError("x has shape " + to_string(x) +
                      " (a row without elements has no mean); give x at least one column");
    }
    std::vector<Shape> const wanted = shapes(x[0], x[1], d, input[w1_][0]);
    for (std::size_t i = 1; i < count_; ++i) {
      needs_shape(std::string(Input<float, Kokkos::HostSpace>::names[i]), input[i], wanted[i],
                  "x " + to_string(x) + ", w1 " + to_string(input[w1_]), "d_model columns, d_ff rows of w1");
    }
    std::size_t const heads = parameters.heads_of(d);
    if (d % heads != 0) {
      throw UserError("--heads " + std::to_string(heads) + " does not divide the " + std::to_string(d) +
                      " columns of x (all heads have as many); choose a divisor of " + std::to_string(d));
    }
    return {x};
  }

  /// Weights are uniform with variance 1 / columns, so that all activations keep a size near 1. Gammas are near 1,
  /// betas and biases up to 1/4. Signs are random and independent, which the bound for random data uses.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const&) {
    T const value = drawn<T>(draw);
    switch (draw.field) {
      case x_: return 2 * value;
      case gamma1_:
      case gamma2_: return 1 + value / 4;
      case wq_:
      case wk_:
      case wv_:
      case wo_:
      case w1_:
      case w2_: return value * static_cast<T>(std::sqrt(3.0 / static_cast<double>(draw.shapes->at(draw.field)[1])));
      default: return value / 4;
    }
  }

  /// Each field read and y written once. Multiply-adds of the products and, for each pair of a query and a key that it
  /// sees, 2 d_model for its score and its value.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const& parameters, DType dtype) {
    double elements = wide_count_of(input[x_]);
    for (Shape const& shape : input) elements += wide_count_of(shape);
    double const tokens = static_cast<double>(input[x_][1]);
    double const d = static_cast<double>(input[x_][2]);
    double const d_ff = static_cast<double>(input[w1_][0]);
    double const rows = static_cast<double>(input[x_][0]) * tokens;
    double const keys = parameters.causal ? (tokens + 1) / 2 : tokens;
    return {.bytes = elements * static_cast<double>(size_of(dtype)),
            .flops = rows * (8 * d * d + 4 * d * d_ff + 4 * keys * d)};
  }

  /// The longest chain of one stage of any variant: sums of a row, of a product, of weighted values key by key. The
  /// error of the stages before enters through the scale (reference.cpp).
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    auto const longest_row = static_cast<double>(std::max(input[x_][2], input[w1_][0]));
    return std::max({longest_row + 16, 2 * static_cast<double>(input[x_][1]) + 16, 64.0});
  }

  /// Returns the longest sum: over a row, the hidden units or the keys.
  [[nodiscard]] static std::uint64_t terms(std::vector<Shape> const& input, Parameters const&) {
    return std::max({input[x_][1], input[x_][2], input[w1_][0]});
  }

  /// All ranks have x and all weights, and get all of y.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) {
    return std::vector<Split>(count_, Split::whole);
  }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::whole}; }

  static constexpr int reference_doubles = 3;  ///< a value and two scales
  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);

  /// Returns the reference of some rows of y, in ascending order and each complete: their own stages, and keys and
  /// values of the tokens that they see.
  template <class T>
  [[nodiscard]] static ExpectedField reference_of_rows(Input<T, Kokkos::HostSpace> const& input,
                                                       std::vector<std::size_t> const& rows);
};

}  // namespace tessera::transformer_block
