#pragma once
/// \file
/// A block of a transformer: y = a + mlp(layernorm(a)), a = x + attention(layernorm(x)), as in the GPT-2 model. Kernels
/// run one after another, each with its result in memory: layernorm, layers, multi-head attention, gelu, sums. The
/// stages' results stay in a BlockStages, which the gradients need (kernels/transformer_block_backward.hpp).
///
/// Example, one column: layernorm is beta, so y = x + bo + wo (wv beta1 + bv) + b2 + w2 gelu(w1 beta2 + b1).
///
/// Use:  BlockShape const shape{.heads = {.sequences = 8, .tokens = 64, .heads = 4, .dim = 16}, .d_ff = 256};
///       TransformerBlock<Exec, float> block(exec, shape);
///       BlockStages<Exec, float> stages(shape);            // one per layer
///       block(exec, x, weights, stages, y);
///
/// Source: A. Radford et al., Language models are unsupervised multitask learners (2019).

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/operators.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/linear.hpp>
#include <tessera/kernels/multi_head_attention.hpp>
#include <tessera/kernels/product_form.hpp>
#include <tessera/kernels/transform.hpp>

namespace tessera::kernels {

/// Extents of a block. Its rows are those of the attention, one per token of each sequence.
struct BlockShape {
  Heads heads;
  std::size_t d_ff = 0;  ///< hidden units of the MLP
  double eps = 1e-5;     ///< added to the variances of the layernorms

  [[nodiscard]] std::size_t rows() const { return heads.rows(); }
  [[nodiscard]] std::size_t d_model() const { return heads.cols(); }
  /// Returns the factor of the scores, 1 / sqrt(columns of a head).
  [[nodiscard]] double score_scale() const { return 1 / std::sqrt(static_cast<double>(heads.dim)); }
};

/// The parameters of a block. The kernels take any type with these members, in device memory, contiguous and row-major:
/// a layer is b -> b w^T + bias. Matrices wq, wk, wv, wo [d_model, d_model], w1 [d_ff, d_model], w2 [d_model, d_ff];
/// b1 [d_ff]; all other vectors [d_model].
template <class Vector, class Matrix>
struct BlockWeights {
  Vector gamma1, beta1;
  Matrix wq;
  Vector bq;
  Matrix wk;
  Vector bk;
  Matrix wv;
  Vector bv;
  Matrix wo;
  Vector bo;
  Vector gamma2, beta2;
  Matrix w1;
  Vector b1;
  Matrix w2;
  Vector b2;
};

/// The results of a block's stages: matrices with one row per token.
template <ExecutionSpace Exec, class T>
struct BlockStages {
  using Matrix = ArrayOn<T**, Exec>;
  Matrix ln;  ///< layernorm(x)
  Matrix q;
  Matrix k;
  Matrix v;
  Matrix mean;     ///< of the values, from the attention
  Matrix a;        ///< x plus the attention's output
  Matrix ln_of_a;  ///< layernorm(a)
  Matrix h;        ///< hidden units [rows, d_ff]
  Matrix u;        ///< gelu(h)

  /// Allocates them.
  ///
  /// \param keeps whether gradients will be computed. If not, `ln_of_a` is `ln`, and `u` is `h`.
  /// \param label of the Views
  explicit BlockStages(BlockShape const& shape, bool keeps = true, std::string const& label = "tessera::block")
      : ln(unset(label + "::ln"), shape.rows(), shape.d_model()),
        q(unset(label + "::q"), shape.rows(), shape.d_model()),
        k(unset(label + "::k"), shape.rows(), shape.d_model()),
        v(unset(label + "::v"), shape.rows(), shape.d_model()),
        mean(unset(label + "::mean"), shape.rows(), shape.d_model()),
        a(unset(label + "::a"), shape.rows(), shape.d_model()),
        ln_of_a(keeps ? Matrix(unset(label + "::ln_of_a"), shape.rows(), shape.d_model()) : ln),
        h(unset(label + "::h"), shape.rows(), shape.d_ff),
        u(keeps ? Matrix(unset(label + "::u"), shape.rows(), shape.d_ff) : h) {}
};

namespace detail {

template <class T>
struct GeluOfUnit {
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T h) const { return gelu(h); }
};

}  // namespace detail

/// A block of a transformer. Construct it once, for all layers of a shape. A call only enqueues; calls with their own
/// BlockStages may run concurrently.
template <ExecutionSpace Exec, class T>
class TransformerBlock {
 public:
  using Stages = BlockStages<Exec, T>;

  /// \param team threads per team; 0: choose
  /// \param label the launches are named label::layernorm, and so on
  ///
  /// Throws Skip if the space cannot provide the threads, or if heads have more columns than the attention allows.
  explicit TransformerBlock(Exec const& exec, BlockShape const& shape, std::int64_t team = 0,
                            std::string const& label = "tessera::transformer_block")
      : scale_(static_cast<T>(shape.score_scale())),
        normalise_(exec, shape.rows(), shape.d_model(), shape.eps, team, label + "::layernorm"),
        project_(exec, shape.rows(), shape.d_model(), shape.d_model(), team, label + "::projection"),
        attend_(exec, shape.heads, team, label + "::attention"),
        up_(exec, shape.rows(), shape.d_ff, shape.d_model(), team, label + "::up"),
        gelu_({}, label + "::gelu"),
        down_(exec, shape.rows(), shape.d_model(), shape.d_ff, team, label + "::down"),
        add_({}, label + "::residual") {}

  /// Enqueues all stages but the last layer: what gradients need. `x` [rows, d_model], contiguous and row-major; `w` as
  /// BlockWeights. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> X, class Weights>
  void stages(Exec const& exec, X const& x, Weights const& w, Stages const& to) const {
    normalise_(exec, x, w.gamma1, w.beta1, to.ln);
    project_(exec, to.ln, w.wq, w.bq, to.q);
    project_(exec, to.ln, w.wk, w.bk, to.k);
    project_(exec, to.ln, w.wv, w.bv, to.v);
    attend_(exec, to.q, to.k, to.v, to.mean, scale_);
    project_(exec, to.mean, w.wo, w.bo, to.a);
    add_(exec, to.a, x, to.a);
    normalise_(exec, to.a, w.gamma2, w.beta2, to.ln_of_a);
    up_(exec, to.ln_of_a, w.w1, w.b1, to.h);
    gelu_(exec, to.h, to.u);
  }

  /// Enqueues the block. `y` [rows, d_model] must not overlap the others.
  template <Readable<Exec, T, 2> X, class Weights, Writable<Exec, T, 2> Y>
  void operator()(Exec const& exec, X const& x, Weights const& w, Stages const& to, Y const& y) const {
    stages(exec, x, w, to);
    down_(exec, to.u, w.w2, w.b2, y);
    add_(exec, y, to.a, y);
  }

  /// Returns the longest chain of roundings of one stage.
  [[nodiscard]] double rounding_steps() const {
    return std::max({normalise_.rounding_steps() + 2, project_.rounding_steps() + 1, attend_.rounding_steps(),
                     up_.rounding_steps(), down_.rounding_steps() + 1});
  }

 private:
  T scale_;
  LayerNorm<Exec, T> normalise_;
  Linear<Exec, T> project_;
  MultiHeadAttention<Exec, T> attend_;
  Linear<Exec, T> up_;
  Transform<Exec, T, detail::GeluOfUnit<T>> gelu_;
  Linear<Exec, T> down_;
  Transform<Exec, T, collective::Sum<T>> add_;
};

}  // namespace tessera::kernels
