/// \file
/// Deterministic and few sweeps: q = G w; one sweep over x and q for dx, ln and sums of columns a chunk of rows; these
/// added up in their order; dw = G^T ln, its k split over teams where dw is small.

#include <algorithm>
#include <type_traits>

#include "../column_sums.hpp"
#include "../gradient_rows.hpp"
#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear_backward {

/// Where the sums of the columns [dgamma, dbeta, dbias] belong.
template <class T>
struct ThreeGradients {
  T* dgamma;
  T* dbeta;
  T* dbias;
  std::size_t hidden;

  KOKKOS_FUNCTION void operator()(int, std::size_t col, T sum) const {
    if (col < hidden) {
      dgamma[col] = sum;
    } else if (col < 2 * hidden) {
      dbeta[col - hidden] = sum;
    } else {
      dbias[col - 2 * hidden] = sum;
    }
  }
};

struct TwoStage {
  static constexpr VariantInfo info{.name = "two_stage",
                                    .level = Level::lane,
                                    .summary = "row work fused, sums of columns in chunks that are added in order"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input)
        : work_(exec, input, "tessera::layernorm_linear_backward::two_stage"),
          chunks_(chunks_of(exec, input)),
          parts_(
              Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::layernorm_linear_backward::two_stage::parts"),
              static_cast<std::size_t>(chunks_) * (2 * input.hidden() + input.outputs())) {
      using Columns = ColumnSums<Exec, T, PartialSums<T>>;
      int const threads = kernels::team_size(exec, input.parameters.team, Columns::vector_length);
      PartialSums<T> const nowhere{nullptr, 0};
      auto const steps = [&](std::size_t rows, int chunks) {
        return Columns(nullptr, rows, 1, chunks, nowhere).rounding_steps(threads);
      };
      double const last = steps(static_cast<std::size_t>(chunks_), 1);
      steps_ = LayernormLinearBackward::chain(
          {.row = work_.rows.row_steps(),
           .q = work_.product_q.rounding_steps(),
           .means = work_.rows.mean_steps(),
           .columns = work_.rows.column_steps() + steps(work_.rows.sum_rows(), chunks_) + last,
           .dw = work_.product_dw.rounding_steps(),
           .dbias = steps(input.rows(), chunks_) + last});
    }

    void operator()(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input,
                    OutputOn<LayernormLinearBackward, Exec, T> const& output) const {
      auto const& [x, gamma, beta, w, grad_y, parameters] = input;
      std::size_t const hidden = input.hidden();
      std::size_t const cols = 2 * hidden + input.outputs();
      std::int64_t const team = parameters.team;
      work_.product_q(exec, grad_y, w, work_.q);
      work_.rows("tessera::layernorm_linear_backward::two_stage::rows", exec,
                 {x.data(), work_.q.data(), gamma.data(), beta.data(), output.dx.data(), work_.ln.data(), nullptr,
                  nullptr, nullptr});
      ColumnSums<Exec, T, PartialSums<T>>(work_.rows.sums(), work_.rows.sum_rows(), 2 * hidden, chunks_,
                                          {parts_.data(), cols})
          .enqueue("tessera::layernorm_linear_backward::two_stage::columns", exec, team);
      ColumnSums<Exec, T, PartialSums<T>>(grad_y.data(), input.rows(), input.outputs(), chunks_,
                                          {parts_.data(), cols, 2 * hidden})
          .enqueue("tessera::layernorm_linear_backward::two_stage::bias", exec, team);
      ColumnSums<Exec, T, ThreeGradients<T>>(parts_.data(), static_cast<std::size_t>(chunks_), cols, 1,
                                             {output.dgamma.data(), output.dbeta.data(), output.dbias.data(), hidden})
          .enqueue("tessera::layernorm_linear_backward::two_stage::total", exec, team);
      work_.product_dw(exec, grad_y, work_.ln, output.dw);
    }

    [[nodiscard]] double rounding_steps() const { return steps_; }
    [[nodiscard]] std::string note() const {
      return work_.product_dw.parts() > 1 ? "dw in " + std::to_string(work_.product_dw.parts()) + " parts of the rows"
                                          : "";
    }

   private:
    // Chunks that fill the machine over the columns that there are, of 32 rows at least.
    [[nodiscard]] static int chunks_of(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input) {
      using Columns = ColumnSums<Exec, T, PartialSums<T>>;
      std::size_t const across = std::max<std::size_t>(1, tiles_of(input.outputs(), Columns::width));
      std::size_t const teams = kernels::teams_that_fill(exec, is_gpu<Exec> ? 256 : 1);
      std::size_t const most = std::min<std::size_t>(256, input.rows() / 32);
      return static_cast<int>(std::clamp<std::size_t>(teams / across, 1, std::max<std::size_t>(1, most)));
    }

    ProductsAndRows<Exec, T> work_;
    int chunks_;
    Kokkos::View<T*, typename Exec::memory_space> parts_;
    double steps_ = 0;
  };
};

VariantRows two_stage() { return rows<LayernormLinearBackward, TwoStage>(); }

}  // namespace tessera::layernorm_linear_backward
