/// \file
/// As two_stage, but sums of columns are added to the outputs atomically, in whatever order they come: fewer launches,
/// and other bits on every run.

#include <algorithm>
#include <type_traits>

#include "../gradient_rows.hpp"
#include "../problem.hpp"

#include <tessera/kernels/column_sums.hpp>
#include <tessera/kernels/matrix_product.hpp>
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
          product_q_(exec, input.rows(), input.hidden(), input.outputs(), is_gpu<Exec> ? 0 : input.parameters.team),
          product_dw_(exec, input.outputs(), input.hidden(), input.rows(), is_gpu<Exec> ? 0 : input.parameters.team,
                      kernels::SplitK::where_it_helps),
          chunks_(static_cast<int>(std::clamp<std::size_t>(input.rows() / 32, 1, 256))),
          q_(buffer("q", input.rows() * input.hidden())),
          ln_(buffer("ln", input.rows() * input.hidden())) {
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
      product_q_("tessera::layernorm_linear_backward::fused_atomic::q", exec, grad_y.data(), w.data(), q_.data());
      row_gradients_("tessera::layernorm_linear_backward::fused_atomic::rows", exec,
                     {x.data(), q_.data(), gamma.data(), beta.data(), output.dx.data(), ln_.data(), nullptr,
                      output.dgamma.data(), output.dbeta.data()});
      Columns(grad_y.data(), input.rows(), input.outputs(), chunks_, {output.dbias.data()})
          .enqueue("tessera::layernorm_linear_backward::fused_atomic::bias", exec, parameters.team);
      product_dw_("tessera::layernorm_linear_backward::fused_atomic::dw", exec, grad_y.data(), ln_.data(),
                  output.dw.data());
    }

    [[nodiscard]] double rounding_steps() const { return steps_; }

   private:
    using Buffer = Kokkos::View<T*, typename Exec::memory_space>;
    using Columns = kernels::ColumnSums<Exec, T, kernels::AtomicSums<T>>;

    [[nodiscard]] static Buffer buffer(std::string const& name, std::size_t n) {
      return Buffer(
          Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::layernorm_linear_backward::fused_atomic::" + name),
          n);
    }

    RowGradients<Exec, T> row_gradients_;
    kernels::MatrixProduct<Exec, T> product_q_;
    kernels::MatrixProduct<Exec, T, collective::ProductForm<true, false>> product_dw_;
    int chunks_;
    Buffer q_;
    Buffer ln_;
    double steps_ = 0;
  };
};

VariantRows fused_atomic() { return rows<LayernormLinearBackward, FusedAtomic>(); }

}  // namespace tessera::layernorm_linear_backward
