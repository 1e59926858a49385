/// \file
/// Like two_stage, but the column sums are added to the outputs atomically, in any order: fewer launches, but bits
/// differ from run to run.

#include <algorithm>

#include "../column_sums.hpp"
#include "../gradient_rows.hpp"

namespace tessera::layernorm_linear_backward {

struct AtomicColumns {
  static constexpr VariantInfo info{.name = "atomic_columns",
                                    .level = Level::lane,
                                    .summary = "row work fused, sums of columns by atomic additions",
                                    .deterministic = false};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    static constexpr bool atomic_sums = true;

    Plan(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input)
        : work_(exec, input, "tessera::layernorm_linear_backward::atomic_columns"),
          chunks_(static_cast<int>(std::clamp<std::size_t>(input.rows() / 32, 1, 256))) {
      int const threads = Columns::threads_of(exec, input.parameters.team);
      double const of_chunk = Columns(nullptr, input.rows(), 1, chunks_, {nullptr}).rounding_steps(threads);
      steps_ = LayernormLinearBackward::chain(
          {.row = work_.rows.row_steps(),
           .q = work_.products.q.rounding_steps(),
           .means = work_.rows.mean_steps(),
           // One thread's sum, and at worst the sums of all threads one after the other.
           .columns = work_.rows.column_steps() + static_cast<double>(work_.rows.sum_rows()),
           .dw = work_.products.dw.rounding_steps(),
           .dbias = of_chunk + chunks_});
    }

    void operator()(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input,
                    OutputOn<LayernormLinearBackward, Exec, T> const& output) const {
      auto const& [x, gamma, beta, w, grad_y, parameters] = input;
      Kokkos::deep_copy(exec, output.dgamma, T(0));
      Kokkos::deep_copy(exec, output.dbeta, T(0));
      Kokkos::deep_copy(exec, output.dbias, T(0));
      work_.products.q(exec, grad_y, w, work_.q);
      work_.rows("tessera::layernorm_linear_backward::atomic_columns::rows", exec,
                 {x.data(), work_.q.data(), gamma.data(), beta.data(), output.dx.data(), work_.ln.data(), nullptr,
                  output.dgamma.data(), output.dbeta.data()});
      Columns(grad_y.data(), input.rows(), input.outputs(), chunks_, {output.dbias.data()})
          .enqueue("tessera::layernorm_linear_backward::atomic_columns::bias", exec, parameters.team);
      work_.products.dw(exec, grad_y, work_.ln, output.dw);
    }

    [[nodiscard]] double rounding_steps() const { return steps_; }

   private:
    using Columns = ColumnSums<Exec, T, AtomicSums<T>>;

    ProductsAndRows<Exec, T> work_;
    int chunks_;
    double steps_ = 0;
  };
};

VariantRows atomic_columns() { return rows<LayernormLinearBackward, AtomicColumns>(); }

}  // namespace tessera::layernorm_linear_backward
