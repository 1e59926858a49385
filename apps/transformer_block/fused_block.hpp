#pragma once
/// \file
/// The products do what is between them: they normalise x as they load it, and add bias and residual, or apply gelu, as
/// they store. Of a layernorm only the statistics of the rows are stored; q, k, v, the means, a and the hidden units
/// are stored, too.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "problem.hpp"

#include <tessera/core/problem.hpp>
#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/multi_head_attention.hpp>
#include <tessera/kernels/product_form.hpp>

namespace tessera::transformer_block {

/// Products and attention of `fused` and `graph`.
template <ExecutionSpace Exec, class T>
struct PlainProducts {
  template <class Form>
  using Product = kernels::Gemm<Exec, T, Form>;
  using Attention = kernels::MultiHeadAttention<Exec, T>;

  template <class P>
  [[nodiscard]] static P make(Exec const& exec, std::size_t m, std::size_t n, std::size_t k, std::int64_t team,
                              std::string label) {
    return P(exec, m, n, k, P::team_if_open(team), std::move(label));
  }
  [[nodiscard]] static std::int64_t team_of_attention(std::int64_t team) { return team; }
  template <class P>
  [[nodiscard]] static double rounding_steps(P const& product) {
    return product.rounding_steps();
  }
};

/// The launches of `fused`, `graph` and, with other products, of bf16_block.hpp. Constructed once: allocates, chooses
/// tiles and teams. Calls only enqueue.
template <ExecutionSpace Exec, class T, class Products = PlainProducts<Exec, T>>
class FusedBlock {
  template <class Load, class Store>
  using Product = typename Products::template Product<kernels::ProductForm<false, true, Load, Store>>;
  using Projection = Product<kernels::NormaliseOnLoad<T>, kernels::SumAndBias<T>>;
  using Up = Product<kernels::NormaliseOnLoad<T>, kernels::GeluOfSumAndBias<T>>;
  using Residual = Product<kernels::AsStored, kernels::SumBiasAndResidual<T>>;

 public:
  /// \param label name of the variant; the launches are named label::statistics, and so on
  FusedBlock(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& in, std::string const& label)
      : statistics_(exec, in.rows(), in.d_model(), in.parameters.eps, in.parameters.team, label + "::statistics"),
        projection_(product<Projection>(exec, in, in.d_model(), in.d_model(), label + "::projection")),
        attend_(exec, in.template attention<kernels::Heads>(), Products::team_of_attention(in.parameters.team),
                label + "::attention"),
        out_(product<Residual>(exec, in, in.d_model(), in.d_model(), label + "::out")),
        up_(product<Up>(exec, in, in.d_ff(), in.d_model(), label + "::up")),
        down_(product<Residual>(exec, in, in.d_model(), in.d_ff(), label + "::down")),
        mean_(unset(label + "::mean"), in.rows()),
        inv_std_(unset(label + "::inv_std"), in.rows()),
        q_(unset(label + "::q"), in.rows(), in.d_model()),
        k_(unset(label + "::k"), in.rows(), in.d_model()),
        v_(unset(label + "::v"), in.rows(), in.d_model()),
        attended_(unset(label + "::attended"), in.rows(), in.d_model()),
        a_(unset(label + "::a"), in.rows(), in.d_model()),
        hidden_(unset(label + "::hidden"), in.rows(), in.d_ff()),
        steps_(longest_stage(in, {statistics_.rounding_steps() + 2, Products::rounding_steps(projection_) + 1,
                                  attend_.rounding_steps(), Products::rounding_steps(out_) + 2,
                                  Products::rounding_steps(up_) + 1, Products::rounding_steps(down_) + 2})) {}

  void operator()(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& in,
                  OutputOn<TransformerBlock, Exec, T> const& out) const {
    auto const x = rows_of(in.x);
    auto const y = rows_of(out.y);
    if (y.size() == 0) return;
    statistics_.statistics(exec, x, mean_, inv_std_);
    auto const normalised = statistics_.on_load(x, in.gamma1, in.beta1, mean_, inv_std_);
    auto const project = [&](auto const& w, auto const& bias, auto const& to) {
      projection_(exec, x, w, to, {.load = normalised, .store = kernels::sum_and_bias(exec, bias, to.extent(1))});
    };
    project(in.wq, in.bq, q_);
    project(in.wk, in.bk, k_);
    project(in.wv, in.bv, v_);
    attend_(exec, q_, k_, v_, attended_, static_cast<T>(in.score_scale()));
    out_(exec, attended_, in.wo, a_, {.load = {}, .store = kernels::sum_bias_and_residual(exec, in.bo, x)});
    statistics_.statistics(exec, a_, mean_, inv_std_);
    up_(exec, a_, in.w1, hidden_,
        {.load = statistics_.on_load(a_, in.gamma2, in.beta2, mean_, inv_std_),
         .store = kernels::gelu_of_sum_and_bias(exec, in.b1, hidden_.extent(1))});
    down_(exec, hidden_, in.w2, y, {.load = {}, .store = kernels::sum_bias_and_residual(exec, in.b2, a_)});
  }

  [[nodiscard]] double rounding_steps() const { return steps_; }

 private:
  using Matrix = MatrixOn<T, Exec>;
  using Numbers = Kokkos::View<T*, typename Exec::memory_space>;

  template <class P>
  static P product(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& in, std::size_t n, std::size_t k,
                   std::string const& step) {
    return Products::template make<P>(exec, in.rows(), n, k, in.parameters.team, step);
  }

  kernels::LayerNorm<Exec, T> statistics_;
  Projection projection_;
  typename Products::Attention attend_;
  Residual out_;
  Up up_;
  Residual down_;
  Numbers mean_;  // of the distances from a row's first element
  Numbers inv_std_;
  Matrix q_;
  Matrix k_;
  Matrix v_;
  Matrix attended_;
  Matrix a_;
  Matrix hidden_;
  double steps_;
};

}  // namespace tessera::transformer_block
