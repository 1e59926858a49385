/// \file
/// The formula, stage by stage. Here is the loop over the queries of all heads; the loops over rows and elements are in
/// plain_stages.hpp.

#include <Kokkos_Core.hpp>

#include "../plain_stages.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::transformer_block {

struct Plain {
  static constexpr VariantInfo info{.name = "plain",
                                    .level = Level::range,
                                    .summary = "a loop over the results of each stage, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, std::floating_point T>
  struct Plan : BlockMemory<Exec, T>, PlainStages<Exec, T> {
    using Matrix = MatrixOn<T, Exec>;
    using In = MatrixOn<T const, Exec>;
    double steps;

    Plan(Exec const&, InputOn<TransformerBlock, Exec, T> const& in)
        : Plan::BlockMemory(in, "tessera::transformer_block::plain"),
          steps(longest_stage(in, {double(in.d_model()) + 16, double(in.d_ff()) + 4, 2. * double(in.tokens()) + 16})) {}
    [[nodiscard]] double rounding_steps() const { return steps; }

    void operator()(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& in,
                    OutputOn<TransformerBlock, Exec, T> const& out) const {
      auto const eps = static_cast<T>(in.parameters.eps);
      In const x = rows_of(in.x);
      this->normalise(exec, x, in.gamma1, in.beta1, eps, this->ln);
      this->multiply(exec, this->ln, in.wq, in.bq, this->q);
      this->multiply(exec, this->ln, in.wk, in.bk, this->k);
      this->multiply(exec, this->ln, in.wv, in.bv, this->v);
      attend(exec, in.template attention<kernels::Heads>(), T(in.score_scale()), this->q, this->k, this->v, this->mean);
      this->multiply(exec, this->mean, in.wo, in.bo, this->a, x);
      this->normalise(exec, this->a, in.gamma2, in.beta2, eps, this->ln);
      this->multiply(exec, this->ln, in.w1, in.b1, this->hidden);
      this->apply_gelu(exec, this->hidden);
      this->multiply(exec, this->hidden, in.w2, in.b2, rows_of(out.y), this->a);
    }

    static void attend(Exec const& exec, kernels::Heads const& of, T scale, In const& q, In const& k, In const& v,
                       Matrix const& mean) {
      Kokkos::parallel_for(
          "tessera::transformer_block::plain::attend", over(exec, q.extent(0) * of.heads),
          KOKKOS_LAMBDA(std::size_t i) {
            std::size_t const row = i / of.heads;
            std::size_t const col = i % of.heads * of.dim;  // of the head
            std::size_t const first = row - row % of.tokens;
            std::size_t const end = of.causal ? row + 1 : first + of.tokens;
            auto const score = [&](std::size_t key) {
              T sum = 0;
              for (std::size_t c = col; c < col + of.dim; ++c) sum += q(row, c) * k(key, c);
              return scale * sum;
            };
            T most = score(first);
            for (std::size_t key = first; key < end; ++key) most = Kokkos::max(most, score(key));
            T total = 0;
            for (std::size_t key = first; key < end; ++key) total += Kokkos::exp(score(key) - most);
            for (std::size_t c = col; c < col + of.dim; ++c) mean(row, c) = 0;
            for (std::size_t key = first; key < end; ++key) {
              // Divided first: a sum of huge values that is divided at the end may leave the range.
              T const weight = Kokkos::exp(score(key) - most) / total;
              for (std::size_t c = col; c < col + of.dim; ++c) mean(row, c) += weight * v(key, c);
            }
          });
    }
  };
};

VariantRows plain() { return rows<TransformerBlock, Plain>(); }

}  // namespace tessera::transformer_block
