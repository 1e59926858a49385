#pragma once
/// \file
/// A block of a transformer as a problem: its parameters, fields, shapes and generated data, for all mini-apps on it.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
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

namespace tessera {

/// A matrix of a Plan, or the rows of x, y and gradients in their shape.
template <class T, class Exec>
using MatrixOn = Array<T**, typename Exec::memory_space>;

/// Returns the rows of x, or of an array of its shape: one per token of each sequence.
template <class View>
[[nodiscard]] auto rows_of(View const& of) {
  using Element = typename View::value_type;
  return Array<Element**, typename View::memory_space>(of.data(), of.extent(0) * of.extent(1), of.extent(2));
}

/// Returns the longest chain of roundings of a block's stage: those given, and at least 64, which the references assume
/// (a score, an exponential or gelu has fewer).
template <class Input>
[[nodiscard]] double longest_stage(Input const& input, std::initializer_list<double> stages) {
  return std::max({std::max(stages), static_cast<double>(input.d_head()) + 2, 64.0});
}

/// Base class of Problems whose first fields are the input and the weights of a block.
struct TransformerBlockProblem {
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
    /// Returns the shape of the attention as kernels::Heads, which `core` does not know.
    template <class Heads>
    [[nodiscard]] Heads attention() const {
      return {
          .sequences = sequences(), .tokens = tokens(), .heads = heads(), .dim = d_head(), .causal = parameters.causal};
    }
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
  static void needs_block(std::vector<Shape> const& input, Parameters const& parameters) {
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
};

}  // namespace tessera
