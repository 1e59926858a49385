#pragma once
/// \file
/// The launches of tensor_3xtf32 and warpgroup_3xtf32: layernorm to memory, products on matrix units with float
/// accuracy that add bias and residual or apply gelu as they store, and attention. kernels/tf32_gemm.hpp reads the rows
/// of a weight matrix's transpose, which is written to memory before each product. kernels/warpgroup_tf32_gemm.hpp
/// transposes the weights as it splits them.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "block_memory.hpp"
#include "magnitudes.hpp"

#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/gemm/matrix_units.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/multi_head_attention.hpp>
#include <tessera/kernels/product_form.hpp>
#include <tessera/kernels/tensor_heads.hpp>
#include <tessera/kernels/tf32_gemm.hpp>
#include <tessera/kernels/transpose.hpp>
#include <tessera/table/on_matrix_units.hpp>

namespace tessera::transformer_block {

/// Products of tensor_3xtf32.
template <ExecutionSpace Exec>
struct Tf32Products {
  static constexpr bool transpose = false;  ///< whether they take the weights as they are
  template <class Store>
  using With = kernels::Tf32Gemm<Exec, 2, kernels::ProductForm<false, false, kernels::AsStored, Store>>;
};

/// Attention with float accuracy: on matrix units, with three bfloat16 terms per factor, if heads and factors suit
/// kernels/tensor_heads.hpp; otherwise on multiply-add units.
template <ExecutionSpace Exec>
class FloatAttention {
  using OnUnits = kernels::TensorHeads<Exec, 3>;
  using Tuning = kernels::TensorAttentionTuning<Exec, 3>;

 public:
  /// \param largest magnitude of q, k and v
  FloatAttention(Exec const& exec, kernels::Heads const& heads, double largest, std::int64_t team,
                 std::string const& label) {
    if (kernels::can_have_units_of_warps<Exec> && largest <= static_cast<double>(OnUnits::largest) &&
        heads.dim >= Tuning::least_columns && heads.dim <= Tuning::most_columns) {
      on_units_.emplace(exec, heads, 0, label);  // its tiles fix the threads of a team
    } else {
      plain_.emplace(exec, heads, team, label);
    }
  }

  void operator()(Exec const& exec, MatrixOn<float, Exec> const& q, MatrixOn<float, Exec> const& k,
                  MatrixOn<float, Exec> const& v, MatrixOn<float, Exec> const& out, double scale) const {
    if (on_units_) {
      (*on_units_)(exec, q, k, v, out, scale);
    } else {
      (*plain_)(exec, q, k, v, out, static_cast<float>(scale));
    }
  }

  [[nodiscard]] double rounding_steps() const {
    return on_units_ ? on_units_->rounding_steps() : plain_->rounding_steps();
  }
  /// Returns the error that the unit adds, relative to the sum of magnitudes.
  [[nodiscard]] double error() const { return on_units_ ? on_units_->reduced_precision().relative : 0; }
  [[nodiscard]] bool is_on_units() const { return on_units_.has_value(); }

 private:
  std::optional<OnUnits> on_units_;
  std::optional<kernels::MultiHeadAttention<Exec, float>> plain_;
};

/// Throws Skip as BlockMagnitudes and the products do.
template <ExecutionSpace Exec, class Products = Tf32Products<Exec>>
class Tf32Block : BlockMemory<Exec, float> {
  using Projection = typename Products::template With<kernels::SumAndBias<float>>;
  using Up = typename Products::template With<kernels::GeluOfSumAndBias<float>>;
  using Residual = typename Products::template With<kernels::SumBiasAndResidual<float>>;
  using Matrix = MatrixOn<float, Exec>;

 public:
  /// \param label name of the variant; the launches are named label::layernorm, and so on
  Tf32Block(Exec const& exec, InputOn<TransformerBlock, Exec, float> const& in,
            std::string const& label = "tessera::transformer_block::tensor_3xtf32")
      : Tf32Block(exec, in, BlockMagnitudes<Exec>(exec, in, 100), label) {}
  Tf32Block(Exec const& exec, InputOn<TransformerBlock, Exec, float> const& in, BlockMagnitudes<Exec> const& magnitudes,
            std::string const& label)
      : Tf32Block::BlockMemory(in, label),
        layer_norm_(exec, in.rows(), in.d_model(), in.parameters.eps, in.parameters.team, label + "::layernorm"),
        attend_(exec, in.template attention<kernels::Heads>(), magnitudes.projected(), in.parameters.team,
                label + "::attention"),
        projection_(exec, in.rows(), in.d_model(), in.d_model(), label + "::projection"),
        out_(exec, in.rows(), in.d_model(), in.d_model(), label + "::out"),
        up_(exec, in.rows(), in.d_ff(), in.d_model(), label + "::up"),
        down_(exec, in.rows(), in.d_model(), in.d_ff(), label + "::down"),
        square_(exec, in.d_model(), in.d_model(), in.parameters.team, label + "::transpose"),
        tall_(exec, in.d_ff(), in.d_model(), in.parameters.team, label + "::transpose"),
        flat_(exec, in.d_model(), in.d_ff(), in.parameters.team, label + "::transpose"),
        transposed_(unset(label + "::transposed"),
                    Products::transpose ? 0 : std::max(in.d_model() * in.d_model(), in.d_model() * in.d_ff())),
        lost_(magnitudes.lost_by_underflow(kernels::lost_by_underflow_of_tf32) +
              (attend_.is_on_units() ? magnitudes.lost_by_attention(in.tokens()) : 0)),
        steps_(longest_stage(
            in, {layer_norm_.rounding_steps() + 2, attend_.rounding_steps(), projection_.rounding_steps() + 1,
                 out_.rounding_steps() + 2, up_.rounding_steps() + 1, down_.rounding_steps() + 2})) {}

  void operator()(Exec const& exec, InputOn<TransformerBlock, Exec, float> const& in,
                  OutputOn<TransformerBlock, Exec, float> const& out) const {
    auto const x = rows_of(in.x);
    auto const y = rows_of(out.y);
    if (y.size() == 0) return;
    auto const project = [&](auto const& w, auto const& bias, auto const& to) {
      projection_(exec, this->ln, weights(exec, square_, w), to,
                  {.load = {}, .store = kernels::sum_and_bias(exec, bias, to.extent(1))});
    };
    layer_norm_(exec, x, in.gamma1, in.beta1, this->ln);
    project(in.wq, in.bq, this->q);
    project(in.wk, in.bk, this->k);
    project(in.wv, in.bv, this->v);
    attend_(exec, this->q, this->k, this->v, this->mean, in.score_scale());
    out_(exec, this->mean, weights(exec, square_, in.wo), this->a,
         {.load = {}, .store = kernels::sum_bias_and_residual(exec, in.bo, x)});
    layer_norm_(exec, this->a, in.gamma2, in.beta2, this->ln);
    up_(exec, this->ln, weights(exec, tall_, in.w1), this->hidden,
        {.load = {}, .store = kernels::gelu_of_sum_and_bias(exec, in.b1, this->hidden.extent(1))});
    down_(exec, this->hidden, weights(exec, flat_, in.w2), y,
          {.load = {}, .store = kernels::sum_bias_and_residual(exec, in.b2, this->a)});
  }

  [[nodiscard]] double rounding_steps() const { return steps_; }
  /// Returns eight times the error of products and attention: it is relative to the largest products of a slice, whose
  /// signs are random, while the bound for random data counts the root of the sum of their squares (reference.cpp).
  [[nodiscard]] ReducedPrecision reduced_precision() const {
    return {.relative = 8 * std::max(projection_.error(), attend_.error()), .absolute = lost_};
  }

 private:
  /// Returns the product's right operand: the weights, or their transpose, which it enqueues.
  template <class W>
  [[nodiscard]] ArrayOn<float const**, Exec> weights(Exec const& exec, kernels::Transpose<Exec, float> const& transpose,
                                                     W const& w) const {
    if constexpr (Products::transpose) {
      return w;
    } else {
      Matrix const to(transposed_.data(), w.extent(1), w.extent(0));
      transpose(exec, w, to);
      return to;
    }
  }

  kernels::LayerNorm<Exec, float> layer_norm_;
  FloatAttention<Exec> attend_;
  Projection projection_;
  Residual out_;
  Up up_;
  Residual down_;
  kernels::Transpose<Exec, float> square_;
  kernels::Transpose<Exec, float> tall_;
  kernels::Transpose<Exec, float> flat_;
  Kokkos::View<float*, typename Exec::memory_space> transposed_;
  double lost_;
  double steps_;
};

}  // namespace tessera::transformer_block
