/// \file
/// One kernel after the other, each with its result in memory: layernorm, products with bias, attention, gelu and the
/// residuals.

#include <Kokkos_Core.hpp>

#include <string>

#include "../block_rows.hpp"

#include <tessera/collective/operators.hpp>
#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/multi_head_attention.hpp>
#include <tessera/kernels/product_form.hpp>
#include <tessera/kernels/transform.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transformer_block {

template <class T>
struct GeluOfElement {
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T x) const { return kernels::gelu(x); }
};

struct Composed {
  static constexpr VariantInfo info{
      .name = "composed",
      .level = Level::team,
      .summary = "12 kernels: layernorm, products with bias, attention, gelu, residuals, each through memory"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan : BlockMemory<Exec, T> {
    using Form = kernels::ProductForm<false, true, kernels::AsStored, kernels::SumAndBias<T>>;
    using Product = kernels::Gemm<Exec, T, Form>;

   public:
    Plan(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& in)
        : Plan::BlockMemory(in, label("")),
          layer_norm_(exec, in.rows(), in.d_model(), in.parameters.eps, in.parameters.team, label("::layernorm")),
          projection_(product(exec, in, in.d_model(), in.d_model(), "::projection")),
          attend_(exec, heads_of(in), in.parameters.team, label("::attention")),
          up_(product(exec, in, in.d_ff(), in.d_model(), "::up")),
          gelu_({}, label("::gelu")),
          down_(product(exec, in, in.d_model(), in.d_ff(), "::down")),
          add_({}, label("::residual")),
          steps_(longest_stage(in, {layer_norm_.rounding_steps() + 2, projection_.rounding_steps() + 1,
                                    attend_.rounding_steps(), up_.rounding_steps() + 1, down_.rounding_steps() + 1})) {}

    void operator()(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& in,
                    OutputOn<TransformerBlock, Exec, T> const& out) const {
      auto const x = rows_of(in.x);
      auto const y = rows_of(out.y);
      auto const layer = [&](Product const& product, auto const& a, auto const& w, auto const& bias, auto const& c) {
        product(exec, a, w, c, {.load = {}, .store = kernels::sum_and_bias(exec, bias, c.extent(1))});
      };
      if (y.size() == 0) return;
      layer_norm_(exec, x, in.gamma1, in.beta1, this->ln);
      layer(projection_, this->ln, in.wq, in.bq, this->q);
      layer(projection_, this->ln, in.wk, in.bk, this->k);
      layer(projection_, this->ln, in.wv, in.bv, this->v);
      attend_(exec, this->q, this->k, this->v, this->mean, static_cast<T>(in.score_scale()));
      layer(projection_, this->mean, in.wo, in.bo, this->a);
      add_(exec, this->a, x, this->a);
      layer_norm_(exec, this->a, in.gamma2, in.beta2, this->ln);
      layer(up_, this->ln, in.w1, in.b1, this->hidden);
      gelu_(exec, this->hidden, this->hidden);
      layer(down_, this->hidden, in.w2, in.b2, y);
      add_(exec, y, this->a, y);
    }

    [[nodiscard]] double rounding_steps() const { return steps_; }

   private:
    static Product product(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& in, std::size_t n, std::size_t k,
                           char const* step) {
      return Product(exec, in.rows(), n, k, Product::team_if_open(in.parameters.team), label(step));
    }
    static std::string label(char const* step) { return std::string("tessera::transformer_block::composed") + step; }

    kernels::LayerNorm<Exec, T> layer_norm_;
    Product projection_;
    kernels::MultiHeadAttention<Exec, T> attend_;
    Product up_;
    kernels::Transform<Exec, T, GeluOfElement<T>> gelu_;
    Product down_;
    kernels::Transform<Exec, T, collective::Sum<T>> add_;
    double steps_;
  };
};

VariantRows composed() { return rows<TransformerBlock, Composed>(); }

}  // namespace tessera::transformer_block
