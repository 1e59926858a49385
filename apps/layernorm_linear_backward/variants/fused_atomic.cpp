/// \file
/// As two_stage, but sums of columns are added to the outputs atomically, in whatever order they come: fewer launches,
/// and other bits on every run.

#include <algorithm>
#include <type_traits>

#include "../column_sums.hpp"
#include "../gradient_rows.hpp"
#include "../problem.hpp"

#include <tessera/kernels/gemm.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear_backward {

struct FusedAtomic {
  static constexpr VariantInfo info{.name = "fused_atomic",
                                    .level = Level::lane,
                                    .summary = "row work fused, sums of columns by atomic additions",
                                    .deterministic = false};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    static constexpr bool atomic_sums = true;

    Plan(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input)
        : row_gradients_(exec, input),
          product_q_(exec, input.rows(), input.hidden(), input.outputs(), ProductQ::team_if_open(input.parameters.team),
                     "tessera::layernorm_linear_backward::fused_atomic::q"),
          product_dw_(exec, input.outputs(), input.hidden(), input.rows(),
                      ProductDw::team_if_open(input.parameters.team),
                      "tessera::layernorm_linear_backward::fused_atomic::dw", kernels::SplitK::where_it_helps),
          chunks_(static_cast<int>(std::clamp<std::size_t>(input.rows() / 32, 1, 256))),
          q_(matrix("q", input)),
          ln_(matrix("ln", input)) {
      int const threads = kernels::team_size(exec, input.parameters.team, Columns::vector_length);
      double const of_chunk = Columns(nullptr, input.rows(), 1, chunks_, {nullptr}).rounding_steps(threads);
      steps_ = LayernormLinearBackward::chain(
          {.row = row_gradients_.row_steps(),
           .q = product_q_.rounding_steps(),
           .means = row_gradients_.mean_steps(),
           // At worst one thread's, one chunk's sum after the other.
           .columns = row_gradients_.column_steps() + static_cast<double>(row_gradients_.sum_rows()),
           .dw = product_dw_.rounding_steps(),
           .dbias = of_chunk + chunks_});
    }

    void operator()(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input,
                    OutputOn<LayernormLinearBackward, Exec, T> const& output) const {
      auto const& [x, gamma, beta, w, grad_y, parameters] = input;
      Kokkos::deep_copy(exec, output.dgamma, T(0));
      Kokkos::deep_copy(exec, output.dbeta, T(0));
      Kokkos::deep_copy(exec, output.dbias, T(0));
      product_q_(exec, grad_y, w, q_);
      row_gradients_("tessera::layernorm_linear_backward::fused_atomic::rows", exec,
                     {x.data(), q_.data(), gamma.data(), beta.data(), output.dx.data(), ln_.data(), nullptr,
                      output.dgamma.data(), output.dbeta.data()});
      Columns(grad_y.data(), input.rows(), input.outputs(), chunks_, {output.dbias.data()})
          .enqueue("tessera::layernorm_linear_backward::fused_atomic::bias", exec, parameters.team);
      product_dw_(exec, grad_y, ln_, output.dw);
    }

    [[nodiscard]] double rounding_steps() const { return steps_; }

   private:
    using Matrix = Array<T**, typename Exec::memory_space>;
    using ProductQ = kernels::Gemm<Exec, T>;
    using ProductDw = kernels::Gemm<Exec, T, kernels::TransposedA>;
    using Columns = ColumnSums<Exec, T, AtomicSums<T>>;

    [[nodiscard]] static Matrix matrix(std::string const& name,
                                       InputOn<LayernormLinearBackward, Exec, T> const& input) {
      return Matrix(
          Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::layernorm_linear_backward::fused_atomic::" + name),
          input.rows(), input.hidden());
    }

    RowGradients<Exec, T> row_gradients_;
    ProductQ product_q_;
    ProductDw product_dw_;
    int chunks_;
    Matrix q_;
    Matrix ln_;
    double steps_ = 0;
  };
};

VariantRows fused_atomic() { return rows<LayernormLinearBackward, FusedAtomic>(); }

}  // namespace tessera::layernorm_linear_backward
