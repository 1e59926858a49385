/// \file
/// One kernel after the other, each with its result in memory: the forward stages, then the gradients of each stage
/// from the last to the first.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

#include "../block_rows.hpp"

#include <tessera/collective/operators.hpp>
#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/layer_norm_backward.hpp>
#include <tessera/kernels/multi_head_attention.hpp>
#include <tessera/kernels/multi_head_attention_backward.hpp>
#include <tessera/kernels/product_form.hpp>
#include <tessera/kernels/sum_columns.hpp>
#include <tessera/kernels/transform.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transformer_block_backward {

template <class T>
struct GeluOfUnit {
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T h) const { return kernels::gelu(h); }
};

template <class T>
struct GradientOfUnit {
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T du, T h) const { return du * kernels::gelu_derivative(h); }
};

/// A layer c = b w^T + bias of `outputs` x `inputs` weights: its products and sums.
template <ExecutionSpace Exec, class T>
class Layer {
 public:
  Layer(Exec const& exec, std::size_t rows, std::size_t outputs, std::size_t inputs, std::int64_t team,
        std::string const& label)
      : forward_(exec, rows, outputs, inputs, Forward::team_if_open(team), label),
        backward_(exec, rows, inputs, outputs, Backward::team_if_open(team), label + "_rows"),
        weights_(exec, outputs, inputs, rows, Weights::team_if_open(team), label + "_weights",
                 kernels::SplitK::where_it_helps),
        bias_(exec, rows, outputs, team, label + "_bias") {}

  void operator()(Exec const& exec, auto const& b, auto const& w, auto const& bias, auto const& c) const {
    forward_(exec, b, w, c, {.load = {}, .store = kernels::sum_and_bias(exec, bias, c.extent(1))});
  }
  /// The gradient of b.
  void rows(Exec const& exec, auto const& dc, auto const& w, auto const& db) const { backward_(exec, dc, w, db); }
  /// The gradients of w and bias.
  void weights(Exec const& exec, auto const& dc, auto const& b, auto const& dw, auto const& dbias) const {
    weights_(exec, dc, b, dw);
    bias_(exec, dc, dbias);
  }
  [[nodiscard]] double rounding_steps() const {
    return std::max(
        {forward_.rounding_steps() + 1, backward_.rounding_steps(), weights_.rounding_steps(), bias_.rounding_steps()});
  }

 private:
  using Form = kernels::ProductForm<false, true, kernels::AsStored, kernels::SumAndBias<T>>;
  using Forward = kernels::Gemm<Exec, T, Form>;
  using Backward = kernels::Gemm<Exec, T>;
  using Weights = kernels::Gemm<Exec, T, kernels::TransposedA>;

  Forward forward_;
  Backward backward_;
  Weights weights_;
  kernels::SumColumns<Exec, T> bias_;
};

struct Composed {
  static constexpr VariantInfo info{
      .name = "composed",
      .level = Level::team,
      .summary = "kernels for the products, layernorm, attention and their gradients, each through memory"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
    using In = InputOn<TransformerBlockBackward, Exec, T>;

   public:
    Plan(Exec const& exec, In const& in)
        : normalise_(exec, in.rows(), in.d_model(), in.parameters.eps, in.parameters.team, label("layernorm")),
          through_normalise_(exec, in.rows(), in.d_model(), in.parameters.eps, in.parameters.team,
                             label("layernorm_gradient")),
          square_(exec, in.rows(), in.d_model(), in.d_model(), in.parameters.team, label("projection")),
          up_(exec, in.rows(), in.d_ff(), in.d_model(), in.parameters.team, label("up")),
          down_(exec, in.rows(), in.d_model(), in.d_ff(), in.parameters.team, label("down")),
          attend_(exec, heads_of(in), in.parameters.team, label("attention")),
          through_attention_(exec, heads_of(in), in.parameters.team, label("attention_gradient")),
          gelu_({}, label("gelu")),
          through_gelu_({}, label("gelu_gradient")),
          add_({}, label("sum")),
          steps_(longest_stage({normalise_.rounding_steps() + 2, through_normalise_.rounding_steps(),
                                square_.rounding_steps(), up_.rounding_steps(), down_.rounding_steps(),
                                attend_.rounding_steps(), through_attention_.rounding_steps()})) {
      for (Matrix* const m : {&ln_, &q_, &k_, &v_, &mean_, &a_, &ln_of_a_, &dln_, &da_, &dmean_, &dq_, &dk_, &dv_}) {
        *m = Matrix(unset(label("rows")), in.rows(), in.d_model());
      }
      for (Matrix* const m : {&h_, &u_, &dh_}) *m = Matrix(unset(label("hidden")), in.rows(), in.d_ff());
    }

    void operator()(Exec const& exec, In const& in, OutputOn<TransformerBlockBackward, Exec, T> const& out) const {
      auto const scale = static_cast<T>(in.score_scale());
      auto const x = rows_of(in.x);
      auto const g = rows_of(in.grad_y);
      auto const dx = rows_of(out.dx);
      normalise_(exec, x, in.gamma1, in.beta1, ln_);
      square_(exec, ln_, in.wq, in.bq, q_);
      square_(exec, ln_, in.wk, in.bk, k_);
      square_(exec, ln_, in.wv, in.bv, v_);
      attend_(exec, q_, k_, v_, mean_, scale);
      square_(exec, mean_, in.wo, in.bo, a_);
      add_(exec, a_, x, a_);
      normalise_(exec, a_, in.gamma2, in.beta2, ln_of_a_);
      up_(exec, ln_of_a_, in.w1, in.b1, h_);
      gelu_(exec, h_, u_);

      // The MLP.
      down_.weights(exec, g, u_, out.dw2, out.db2);
      down_.rows(exec, g, in.w2, dh_);
      through_gelu_(exec, dh_, h_, dh_);
      up_.weights(exec, dh_, ln_of_a_, out.dw1, out.db1);
      up_.rows(exec, dh_, in.w1, dln_);
      through_normalise_(exec, a_, in.gamma2, dln_, da_, out.dgamma2, out.dbeta2);
      add_(exec, da_, g, da_);

      // The attention.
      square_.weights(exec, da_, mean_, out.dwo, out.dbo);
      square_.rows(exec, da_, in.wo, dmean_);
      through_attention_(exec, q_, k_, v_, mean_, dmean_, dq_, dk_, dv_, scale);
      square_.weights(exec, dq_, ln_, out.dwq, out.dbq);
      square_.weights(exec, dk_, ln_, out.dwk, out.dbk);
      square_.weights(exec, dv_, ln_, out.dwv, out.dbv);
      square_.rows(exec, dq_, in.wq, dln_);
      square_.rows(exec, dk_, in.wk, dmean_);  // its values are no longer needed
      add_(exec, dln_, dmean_, dln_);
      square_.rows(exec, dv_, in.wv, dmean_);
      add_(exec, dln_, dmean_, dln_);
      through_normalise_(exec, x, in.gamma1, dln_, dx, out.dgamma1, out.dbeta1);
      add_(exec, dx, da_, dx);
    }

    [[nodiscard]] double rounding_steps() const { return steps_; }

   private:
    using Matrix = MatrixOn<T, Exec>;
    static std::string label(std::string const& step) {
      return "tessera::transformer_block_backward::composed::" + step;
    }

    kernels::LayerNorm<Exec, T> normalise_;
    kernels::LayerNormBackward<Exec, T> through_normalise_;
    Layer<Exec, T> square_;
    Layer<Exec, T> up_;
    Layer<Exec, T> down_;
    kernels::MultiHeadAttention<Exec, T> attend_;
    kernels::MultiHeadAttentionBackward<Exec, T> through_attention_;
    kernels::Transform<Exec, T, GeluOfUnit<T>> gelu_;
    kernels::Transform<Exec, T, GradientOfUnit<T>> through_gelu_;
    kernels::Transform<Exec, T, collective::Sum<T>> add_;
    double steps_;
    Matrix ln_, q_, k_, v_, mean_, a_, ln_of_a_, h_, u_;  // forward
    Matrix dh_, dln_, da_, dmean_, dq_, dk_, dv_;         // backward
  };
};

VariantRows composed() { return rows<TransformerBlockBackward, Composed>(); }

}  // namespace tessera::transformer_block_backward
