/// \file
/// On several ranks, which all have x and all weights: a rank computes some heads and some hidden units (tensor
/// parallelism). Its heads' queries, keys and values are rows of wq, wk and wv, and enter wo by columns; its hidden
/// units are rows of w1 and columns of w2. So each rank has a term of the sums of both products that are added to x:
/// two all-reduces per block, in the order of the ranks. Layernorm, bias and residual are computed on all ranks.
///
/// Source: Shoeybi et al., Megatron-LM (2019), section 3.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>

#include "../problem.hpp"

#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/multi_head_attention.hpp>
#include <tessera/kernels/product_form.hpp>
#include <tessera/ranks/ordered_all_reduce.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transformer_block {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "heads and hidden units split over the ranks, two all-reduces"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
    using Matrix = MatrixOn<T, Exec>;
    template <class Store>
    using Product = kernels::Gemm<Exec, T, kernels::ProductForm<false, true, kernels::AsStored, Store>>;

   public:
    Plan(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& in, ranks::Part const& part)
        : heads_(part.ranks.block(in.heads())),
          units_(part.ranks.block(in.d_ff())),
          further_(part.ranks.count() - 1),
          layer_norm_(exec, in.rows(), in.d_model(), in.parameters.eps, in.parameters.team, label("::layernorm")),
          projection_(exec, in.rows(), width(in), in.d_model(), team(in), label("::projection")),
          attend_(exec, own_heads(in), in.parameters.team, label("::attention")),
          out_(exec, in.rows(), in.d_model(), width(in), team(in), label("::out")),
          up_(exec, in.rows(), units_.size(), in.d_model(), team(in), label("::up")),
          down_(exec, in.rows(), in.d_model(), units_.size(), team(in), label("::down")),
          sum_(exec, part.ranks, in.rows() * in.d_model(), label("")),
          ln_(unset(label("::ln")), in.rows(), in.d_model()),
          q_(unset(label("::q")), in.rows(), width(in)),
          k_(unset(label("::k")), in.rows(), width(in)),
          v_(unset(label("::v")), in.rows(), width(in)),
          mean_(unset(label("::mean")), in.rows(), width(in)),
          a_(unset(label("::a")), in.rows(), in.d_model()),
          hidden_(unset(label("::hidden")), in.rows(), units_.size()),
          wo_(unset(label("::wo")), in.d_model(), width(in)),
          w2_(unset(label("::w2")), in.d_model(), units_.size()),
          steps_(longest_stage(in, {layer_norm_.rounding_steps() + 2, attend_.rounding_steps(),
                                    projection_.rounding_steps() + 1, out_.rounding_steps() + further_ + 2,
                                    up_.rounding_steps() + 1, down_.rounding_steps() + further_ + 2})) {}

    void operator()(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& in,
                    OutputOn<TransformerBlock, Exec, T> const& out) {
      auto const x = rows_of(in.x);
      auto const y = rows_of(out.y);
      if (y.size() == 0) return;
      layer_norm_(exec, x, in.gamma1, in.beta1, ln_);
      auto const cols = Kokkos::make_pair(heads_.begin * in.d_head(), heads_.end * in.d_head());
      auto const project = [&](auto const& w, auto const& bias, Matrix const& to) {
        projection_(exec, ln_, Kokkos::subview(w, cols, Kokkos::ALL), to,
                    {.load = {}, .store = kernels::sum_and_bias(exec, Kokkos::subview(bias, cols), to.extent(1))});
      };
      project(in.wq, in.bq, q_);
      project(in.wk, in.bk, k_);
      project(in.wv, in.bv, v_);
      attend_(exec, q_, k_, v_, mean_, static_cast<T>(in.score_scale()));
      copy_columns("tessera::transformer_block::distributed::columns", exec, in.wo, cols.first, wo_);
      out_(exec, mean_, wo_, a_);
      if (further_ > 0) sum_(exec, a_.data());
      add("tessera::transformer_block::distributed::residual", exec, a_, in.bo, x);
      layer_norm_(exec, a_, in.gamma2, in.beta2, ln_);
      auto const units = Kokkos::make_pair(units_.begin, units_.end);
      up_(exec, ln_, Kokkos::subview(in.w1, units, Kokkos::ALL), hidden_,
          {.load = {}, .store = kernels::gelu_of_sum_and_bias(exec, Kokkos::subview(in.b1, units), units_.size())});
      copy_columns("tessera::transformer_block::distributed::columns", exec, in.w2, units_.begin, w2_);
      down_(exec, hidden_, w2_, y);
      if (further_ > 0) sum_(exec, y.data());
      add("tessera::transformer_block::distributed::residual", exec, y, in.b2, a_);
    }

    [[nodiscard]] double rounding_steps() const { return steps_; }

    /// to = the columns of w from `first` on. Public because of nvcc's rules for lambdas.
    static void copy_columns(char const* label, Exec const& exec, ArrayOn<T const**, Exec> const& w, std::size_t first,
                             Matrix const& to) {
      std::size_t const cols = to.extent(1);
      Kokkos::parallel_for(
          label, over(exec, to.size()),
          KOKKOS_LAMBDA(std::size_t i) { to(i / cols, i % cols) = w(i / cols, first + i % cols); });
    }

    /// sums += bias + residual.
    static void add(char const* label, Exec const& exec, Matrix const& sums, ArrayOn<T const*, Exec> const& bias,
                    MatrixOn<T const, Exec> const& residual) {
      std::size_t const cols = sums.extent(1);
      Kokkos::parallel_for(
          label, over(exec, sums.size()),
          KOKKOS_LAMBDA(std::size_t i) { sums.data()[i] += bias(i % cols) + residual.data()[i]; });
    }

   private:
    static std::string label(char const* step) { return std::string("tessera::transformer_block::distributed") + step; }
    static std::int64_t team(InputOn<TransformerBlock, Exec, T> const& in) {
      return Product<kernels::SumAlone>::team_if_open(in.parameters.team);
    }
    // Columns of the rank's heads.
    [[nodiscard]] std::size_t width(InputOn<TransformerBlock, Exec, T> const& in) const {
      return heads_.size() * in.d_head();
    }
    [[nodiscard]] kernels::Heads own_heads(InputOn<TransformerBlock, Exec, T> const& in) const {
      kernels::Heads own = in.template attention<kernels::Heads>();
      own.heads = heads_.size();
      return own;
    }

    ranks::Block heads_;
    ranks::Block units_;
    int further_;  // ranks whose sums are added to a rank's own
    kernels::LayerNorm<Exec, T> layer_norm_;
    Product<kernels::SumAndBias<T>> projection_;
    kernels::MultiHeadAttention<Exec, T> attend_;
    Product<kernels::SumAlone> out_;
    Product<kernels::GeluOfSumAndBias<T>> up_;
    Product<kernels::SumAlone> down_;
    ranks::OrderedAllReduce<Exec, T> sum_;
    Matrix ln_;
    Matrix q_;
    Matrix k_;
    Matrix v_;
    Matrix mean_;
    Matrix a_;
    Matrix hidden_;
    Matrix wo_;  // the rank's columns
    Matrix w2_;
    double steps_;
  };
};

VariantRows distributed() { return rows<TransformerBlock, Distributed>(); }

}  // namespace tessera::transformer_block
