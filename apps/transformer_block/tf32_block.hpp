#pragma once
/// \file
/// The launches of tensor_3xtf32 and warpgroup_3xtf32: layernorm to memory, products on matrix units with float
/// accuracy that add bias and residual or apply gelu as they store, and attention on multiply-add units.
/// kernels/tf32_gemm.hpp reads the rows of a weight matrix's transpose, which is written to memory before each product.
/// kernels/warpgroup_tf32_gemm.hpp transposes the weights as it splits them.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "block_memory.hpp"

#include <tessera/core/types.hpp>
#include <tessera/kernels/largest_magnitude.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/multi_head_attention.hpp>
#include <tessera/kernels/product_form.hpp>
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

/// Bounds of the magnitudes that enter the products.
template <ExecutionSpace Exec>
class BlockMagnitudes {
 public:
  /// Throws Skip if a factor may exceed 2^100: it may round to infinity, and its second term would be NaN. Waits.
  BlockMagnitudes(Exec const& exec, InputOn<TransformerBlock, Exec, float> const& in)
      : d_(static_cast<double>(in.d_model())),
        d_ff_(static_cast<double>(in.d_ff())),
        dim_(static_cast<double>(in.d_head())),
        scale_(in.score_scale()),
        eps_(in.parameters.eps) {
    auto const most = [&](auto const&... fields) {
      return std::max({static_cast<double>(kernels::largest_magnitude(exec, fields))...});
    };
    projection_ = most(in.wq, in.wk, in.wv);
    out_ = most(in.wo);
    up_ = most(in.w1);
    down_ = most(in.w2);
    gamma2_ = most(in.gamma2);
    double const row = std::sqrt(d_);  // of the largest xhat
    ln_ = std::max(most(in.gamma1) * row + most(in.beta1), gamma2_ * row + most(in.beta2));
    projected_ = d_ * projection_ * ln_ + most(in.bq, in.bk, in.bv);
    hidden_ = d_ * up_ * ln_ + most(in.b1);
    if (!(std::max({projection_, out_, up_, down_, ln_, projected_, hidden_}) <= 0x1p100)) {
      throw Skip("factors that may exceed 2^100 (they may round to infinity)");
    }
  }

  /// Returns the error of y by the underflow of terms in all products, each amplified by the stages behind it.
  [[nodiscard]] double lost_by_underflow() const {
    auto const lost = [&](double k, double a, double w) {
      return kernels::lost_by_underflow_of_tf32(static_cast<std::size_t>(k), a, w);
    };
    double const hidden = 1.13 * d_ff_ * down_;  // by gelu and the last product
    double const a = 1 + gamma2_ * (2 + std::sqrt(d_)) / std::sqrt(eps_) * d_ * up_ * hidden;  // and the layernorm
    double const mean = d_ * out_ * a;
    double const scores = 8 * scale_ * dim_ * projected_ * projected_ * mean;  // a weight moves by twice the score
    return lost(d_, ln_, projection_) * (mean + scores) + lost(d_, projected_, out_) * a + lost(d_, ln_, up_) * hidden +
           lost(d_ff_, hidden_, down_);
  }

 private:
  double d_, d_ff_, dim_, scale_, eps_;
  double projection_ = 0, out_ = 0, up_ = 0, down_ = 0, gamma2_ = 0, ln_ = 0, projected_ = 0, hidden_ = 0;
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
      : Tf32Block::BlockMemory(in, label),
        layer_norm_(exec, in.rows(), in.d_model(), in.parameters.eps, in.parameters.team, label + "::layernorm"),
        attend_(exec, in.template attention<kernels::Heads>(), in.parameters.team, label + "::attention"),
        projection_(exec, in.rows(), in.d_model(), in.d_model(), label + "::projection"),
        out_(exec, in.rows(), in.d_model(), in.d_model(), label + "::out"),
        up_(exec, in.rows(), in.d_ff(), in.d_model(), label + "::up"),
        down_(exec, in.rows(), in.d_model(), in.d_ff(), label + "::down"),
        square_(exec, in.d_model(), in.d_model(), in.parameters.team, label + "::transpose"),
        tall_(exec, in.d_ff(), in.d_model(), in.parameters.team, label + "::transpose"),
        flat_(exec, in.d_model(), in.d_ff(), in.parameters.team, label + "::transpose"),
        transposed_(unset(label + "::transposed"),
                    Products::transpose ? 0 : std::max(in.d_model() * in.d_model(), in.d_model() * in.d_ff())),
        lost_(BlockMagnitudes<Exec>(exec, in).lost_by_underflow()),
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
    attend_(exec, this->q, this->k, this->v, this->mean, static_cast<float>(in.score_scale()));
    out_(exec, this->mean, weights(exec, square_, in.wo), this->a,
         {.load = {}, .store = kernels::sum_bias_and_residual(exec, in.bo, x)});
    layer_norm_(exec, this->a, in.gamma2, in.beta2, this->ln);
    up_(exec, this->ln, weights(exec, tall_, in.w1), this->hidden,
        {.load = {}, .store = kernels::gelu_of_sum_and_bias(exec, in.b1, this->hidden.extent(1))});
    down_(exec, this->hidden, weights(exec, flat_, in.w2), y,
          {.load = {}, .store = kernels::sum_bias_and_residual(exec, in.b2, this->a)});
  }

  [[nodiscard]] double rounding_steps() const { return steps_; }
  /// Returns eight times the products' errors: they are relative to the largest products of a slice, whose signs are
  /// random, while the bound for random data counts the root of the sum of their squares (reference.cpp).
  [[nodiscard]] ReducedPrecision reduced_precision() const {
    return {.relative = 8 * projection_.error(), .absolute = lost_};
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
  kernels::MultiHeadAttention<Exec, float> attend_;
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
