#pragma once
/// \file
/// The gradients of x and of all parameters of a transformer's block (kernels/transformer_block.hpp), given that of y.
/// Kernels run one after another, from the last stage to the first: gradients of layers, gelu, layernorm and multi-head
/// attention, and sums where two ways meet. All sums add in a fixed order.
///
/// Example, without weights (w = 0): dx = grad_y.
///
/// Use:  TransformerBlockBackward<Exec, float> backward(exec, shape);
///       block.stages(exec, x, weights, stages);  // or block(exec, x, weights, stages, y)
///       backward(exec, x, weights, stages, grad_y, dx, gradients);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

#include <tessera/collective/operators.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/layer_norm_backward.hpp>
#include <tessera/kernels/linear.hpp>
#include <tessera/kernels/multi_head_attention_backward.hpp>
#include <tessera/kernels/product_form.hpp>
#include <tessera/kernels/transform.hpp>
#include <tessera/kernels/transformer_block.hpp>

namespace tessera::kernels {

/// The gradients of a block's parameters. The kernel takes any type with these members, in the shapes of BlockWeights.
template <class Vector, class Matrix>
struct BlockGradients {
  Vector dgamma1, dbeta1;
  Matrix dwq;
  Vector dbq;
  Matrix dwk;
  Vector dbk;
  Matrix dwv;
  Vector dbv;
  Matrix dwo;
  Vector dbo;
  Vector dgamma2, dbeta2;
  Matrix dw1;
  Vector db1;
  Matrix dw2;
  Vector db2;
};

namespace detail {

template <class T>
struct GradientOfUnit {
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T du, T h) const { return du * gelu_derivative(h); }
};

}  // namespace detail

/// The gradients of a block. Construct it once, for all layers of a shape: it allocates six matrices like x, one with
/// d_ff columns, and the workspaces of the gradients of its layers, layernorms and attention. A call only enqueues;
/// calls on one object must not run concurrently.
template <ExecutionSpace Exec, class T>
class TransformerBlockBackward {
 public:
  /// \param team threads per team; 0: choose
  /// \param label the launches are named label::up_weights, and so on
  ///
  /// Throws Skip if the space cannot provide the threads, or if heads have more columns than the attention allows.
  explicit TransformerBlockBackward(Exec const& exec, BlockShape const& shape, std::int64_t team = 0,
                                    std::string const& label = "tessera::transformer_block_backward")
      : scale_(static_cast<T>(shape.score_scale())),
        normalise_(exec, shape.rows(), shape.d_model(), shape.eps, team, label + "::layernorm_gradient"),
        project_(exec, shape.rows(), shape.d_model(), shape.d_model(), team, label + "::projection"),
        attend_(exec, shape.heads, team, label + "::attention_gradient"),
        up_(exec, shape.rows(), shape.d_ff, shape.d_model(), team, label + "::up"),
        gelu_({}, label + "::gelu_gradient"),
        down_(exec, shape.rows(), shape.d_model(), shape.d_ff, team, label + "::down"),
        add_({}, label + "::sum"),
        dh_(unset(label + "::dh"), shape.rows(), shape.d_ff) {
    for (Matrix* const m : {&dln_, &da_, &dmean_, &dq_, &dk_, &dv_}) {
      *m = Matrix(unset(label + "::rows"), shape.rows(), shape.d_model());
    }
  }

  /// Enqueues. `x`, `grad_y`, `dx` [rows, d_model], contiguous and row-major; `w` as BlockWeights, `s` the stages of
  /// the block for this x, `out` as BlockGradients. Results must not overlap each other or the inputs. Throws
  /// std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> X, class Weights, Readable<Exec, T, 2> G, Writable<Exec, T, 2> Dx, class Gradients>
  void operator()(Exec const& exec, X const& x, Weights const& w, BlockStages<Exec, T> const& s, G const& grad_y,
                  Dx const& dx, Gradients const& out) const {
    // The MLP.
    down_.weights(exec, grad_y, s.u, out.dw2, out.db2);
    down_.rows(exec, grad_y, w.w2, dh_);
    gelu_(exec, dh_, s.h, dh_);
    up_.weights(exec, dh_, s.ln_of_a, out.dw1, out.db1);
    up_.rows(exec, dh_, w.w1, dln_);
    normalise_(exec, s.a, w.gamma2, dln_, da_, out.dgamma2, out.dbeta2);
    add_(exec, da_, grad_y, da_);

    // The attention.
    project_.weights(exec, da_, s.mean, out.dwo, out.dbo);
    project_.rows(exec, da_, w.wo, dmean_);
    attend_(exec, s.q, s.k, s.v, s.mean, dmean_, dq_, dk_, dv_, scale_);
    project_.weights(exec, dq_, s.ln, out.dwq, out.dbq);
    project_.weights(exec, dk_, s.ln, out.dwk, out.dbk);
    project_.weights(exec, dv_, s.ln, out.dwv, out.dbv);
    project_.rows(exec, dq_, w.wq, dln_);
    project_.rows(exec, dk_, w.wk, dmean_);  // its values are no longer needed
    add_(exec, dln_, dmean_, dln_);
    project_.rows(exec, dv_, w.wv, dmean_);
    add_(exec, dln_, dmean_, dln_);
    normalise_(exec, x, w.gamma1, dln_, dx, out.dgamma1, out.dbeta1);
    add_(exec, dx, da_, dx);
  }

  /// Returns the longest chain of roundings of one stage.
  [[nodiscard]] double rounding_steps() const {
    return std::max({normalise_.rounding_steps(), project_.rounding_steps(), up_.rounding_steps(),
                     down_.rounding_steps(), attend_.rounding_steps()});
  }

 private:
  using Matrix = ArrayOn<T**, Exec>;

  T scale_;
  LayerNormBackward<Exec, T> normalise_;
  LinearBackward<Exec, T> project_;
  MultiHeadAttentionBackward<Exec, T> attend_;
  LinearBackward<Exec, T> up_;
  Transform<Exec, T, detail::GradientOfUnit<T>> gelu_;
  LinearBackward<Exec, T> down_;
  Transform<Exec, T, collective::Sum<T>> add_;
  Matrix dh_, dln_, da_, dmean_, dq_, dk_, dv_;
};

}  // namespace tessera::kernels
