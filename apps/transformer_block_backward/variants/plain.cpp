/// \file
/// The formulas, stage by stage. Here are the loops over the queries and keys of all heads, which keep all weights in
/// memory; the loops over rows and elements are in plain_stages.hpp.

#include <Kokkos_Core.hpp>

#include "../plain_stages.hpp"

#include <tessera/kernels/multi_head_attention.hpp>  // Heads
#include <tessera/table/make_app.hpp>

namespace tessera::transformer_block_backward {

struct Plain {
  static constexpr VariantInfo info{
      .name = "plain", .level = Level::range, .summary = "a loop over the results of each stage, the baseline"};

  template <ExecutionSpace Exec, std::floating_point T>
  struct Plan : PlainStages<Exec, T> {
    using Matrix = MatrixOn<T, Exec>;
    using Read = MatrixOn<T const, Exec>;
    using In = InputOn<TransformerBlockBackward, Exec, T>;
    PlainNormal<Exec, T> first, second;
    Matrix q, k, v, weight, mean, a, h, u;      // forward
    Matrix dh, dln, da, dmean, dq, dk, dv, ds;  // backward
    double steps;

    Plan(Exec const&, In const& in)
        : first(in.rows(), in.d_model(), "tessera::transformer_block_backward::plain::first"),
          second(in.rows(), in.d_model(), "tessera::transformer_block_backward::plain::second"),
          steps(longest_stage(in, {double(in.d_model()) + 16, double(in.d_ff()) + 4, double(in.rows()) + 16})) {
      for (Matrix* const m : {&q, &k, &v, &mean, &a, &dln, &da, &dmean, &dq, &dk, &dv}) *m = matrix(in, in.d_model());
      for (Matrix* const m : {&h, &u, &dh}) *m = matrix(in, in.d_ff());
      for (Matrix* const m : {&weight, &ds}) *m = matrix(in, in.heads() * in.tokens());
    }
    static Matrix matrix(In const& in, std::size_t cols) {
      return Matrix(unset("tessera::transformer_block_backward::plain::matrix"), in.rows(), cols);
    }
    [[nodiscard]] double rounding_steps() const { return steps; }

    void operator()(Exec const& exec, In const& in, OutputOn<TransformerBlockBackward, Exec, T> const& out) const {
      auto const eps = static_cast<T>(in.parameters.eps);
      auto const scale = static_cast<T>(in.score_scale());
      auto const x = rows_of(in.x);
      auto const g = rows_of(in.grad_y);
      first(exec, x, in.gamma1, in.beta1, eps);
      this->layer(exec, first.ln, in.wq, in.bq, q);
      this->layer(exec, first.ln, in.wk, in.bk, k);
      this->layer(exec, first.ln, in.wv, in.bv, v);
      attend(exec, in.template attention<kernels::Heads>(), scale, q, k, v, weight, mean);
      this->layer(exec, mean, in.wo, in.bo, a, x);
      second(exec, a, in.gamma2, in.beta2, eps);
      this->layer(exec, second.ln, in.w1, in.b1, h);
      this->gelu(exec, h, u);

      this->weights(exec, g, u, out.dw2, out.db2);
      this->layer_backward(exec, g, in.w2, dh);
      this->gelu_backward(exec, h, dh);
      this->weights(exec, dh, second.ln, out.dw1, out.db1);
      this->layer_backward(exec, dh, in.w1, dln);
      second.scales(exec, dln, out.dgamma2, out.dbeta2);
      second.backward(exec, in.gamma2, dln, g, da);
      this->weights(exec, da, mean, out.dwo, out.dbo);
      this->layer_backward(exec, da, in.wo, dmean);
      queries(exec, in.template attention<kernels::Heads>(), scale, k, v, weight, mean, dmean, ds, dq);
      keys(exec, in.template attention<kernels::Heads>(), q, weight, ds, dmean, dk, dv);
      this->weights(exec, dq, first.ln, out.dwq, out.dbq);
      this->weights(exec, dk, first.ln, out.dwk, out.dbk);
      this->weights(exec, dv, first.ln, out.dwv, out.dbv);
      this->layer_backward(exec, dq, in.wq, dln);
      this->layer_backward(exec, dk, in.wk, dln, true);
      this->layer_backward(exec, dv, in.wv, dln, true);
      first.scales(exec, dln, out.dgamma1, out.dbeta1);
      first.backward(exec, in.gamma1, dln, da, rows_of(out.dx));
    }

    /// p = the weights of all keys, mean = p v.
    static void attend(Exec const& exec, kernels::Heads const& of, T scale, Read const& q, Read const& k, Read const& v,
                       Matrix const& p, Matrix const& mean) {
      Kokkos::parallel_for(
          "tessera::transformer_block_backward::plain::attend", over(exec, q.extent(0) * of.heads),
          KOKKOS_LAMBDA(std::size_t i) {
            std::size_t const row = i / of.heads;
            std::size_t const col = i % of.heads * of.dim;    // of the head
            std::size_t const first = row - row % of.tokens;  // of the keys
            std::size_t const at = i % of.heads * of.tokens;  // of the first key's weight
            std::size_t const keys = of.causal ? row - first + 1 : of.tokens;
            T most = 0;
            for (std::size_t j = 0; j < keys; ++j) {
              T score = 0;
              for (std::size_t c = col; c < col + of.dim; ++c) score += q(row, c) * k(first + j, c);
              p(row, at + j) = scale * score;
              most = j == 0 ? scale * score : Kokkos::max(most, scale * score);
            }
            T total = 0;
            for (std::size_t j = 0; j < keys; ++j) total += p(row, at + j) = Kokkos::exp(p(row, at + j) - most);
            for (std::size_t j = 0; j < keys; ++j) p(row, at + j) /= total;
            for (std::size_t c = col; c < col + of.dim; ++c) {
              mean(row, c) = 0;
              for (std::size_t j = 0; j < keys; ++j) mean(row, c) += p(row, at + j) * v(first + j, c);
            }
          });
    }

    /// ds = the gradients of the scores times their factor, dq = ds k.
    static void queries(Exec const& exec, kernels::Heads const& of, T scale, Read const& k, Read const& v,
                        Read const& p, Read const& mean, Read const& dmean, Matrix const& ds, Matrix const& dq) {
      Kokkos::parallel_for(
          "tessera::transformer_block_backward::plain::queries", over(exec, dq.extent(0) * of.heads),
          KOKKOS_LAMBDA(std::size_t i) {
            std::size_t const row = i / of.heads;
            std::size_t const col = i % of.heads * of.dim;
            std::size_t const first = row - row % of.tokens;
            std::size_t const at = i % of.heads * of.tokens;
            std::size_t const keys = of.causal ? row - first + 1 : of.tokens;
            T of_mean = 0;
            for (std::size_t c = col; c < col + of.dim; ++c) of_mean += dmean(row, c) * mean(row, c);
            for (std::size_t c = col; c < col + of.dim; ++c) dq(row, c) = 0;
            for (std::size_t j = 0; j < keys; ++j) {
              T dp = 0;
              for (std::size_t c = col; c < col + of.dim; ++c) dp += dmean(row, c) * v(first + j, c);
              ds(row, at + j) = scale * (p(row, at + j) * (dp - of_mean));
              for (std::size_t c = col; c < col + of.dim; ++c) dq(row, c) += ds(row, at + j) * k(first + j, c);
            }
          });
    }

    /// dk = ds^T q, dv = p^T dmean: sums over the queries that see a key.
    static void keys(Exec const& exec, kernels::Heads const& of, Read const& q, Read const& p, Read const& ds,
                     Read const& dmean, Matrix const& dk, Matrix const& dv) {
      Kokkos::parallel_for(
          "tessera::transformer_block_backward::plain::keys", over(exec, dk.extent(0) * of.heads),
          KOKKOS_LAMBDA(std::size_t i) {
            std::size_t const row = i / of.heads;
            std::size_t const col = i % of.heads * of.dim;
            std::size_t const first = row - row % of.tokens;
            std::size_t const at = i % of.heads * of.tokens + row - first;  // of the key's weights
            for (std::size_t c = col; c < col + of.dim; ++c) {
              dk(row, c) = 0;
              dv(row, c) = 0;
              for (std::size_t query = of.causal ? row : first; query < first + of.tokens; ++query) {
                dk(row, c) += ds(query, at) * q(query, c);
                dv(row, c) += p(query, at) * dmean(query, c);
              }
            }
          });
    }
  };
};

VariantRows plain() { return rows<TransformerBlockBackward, Plain>(); }

}  // namespace tessera::transformer_block_backward
