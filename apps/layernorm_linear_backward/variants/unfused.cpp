/// \file
/// The plain Kokkos answer: a kernel a formula, one element of the result a thread, and a team a row for dx.

#include <cstdint>
#include <type_traits>

#include "../problem.hpp"

#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear_backward {

struct Unfused {
  static constexpr VariantInfo info{
      .name = "unfused", .level = Level::team, .summary = "a plain kernel for each formula, the baseline"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input)
        : layer_norm_(exec, input.rows(), input.hidden(), input.parameters.eps, input.parameters.team),
          threads_(kernels::team_size(exec, input.parameters.team, lanes)),
          league_(league_of(input.rows())),
          mean_("tessera::layernorm_linear_backward::unfused::mean", input.rows()),
          inv_std_("tessera::layernorm_linear_backward::unfused::inv_std", input.rows()),
          q_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::layernorm_linear_backward::unfused::q"),
             input.rows() * input.hidden()) {}

    void operator()(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input,
                    OutputOn<LayernormLinearBackward, Exec, T> const& output) const {
      using Range = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
      // Columns are the first, fastest index: neighbouring threads of a GPU read neighbouring elements.
      using Grid = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                                         Kokkos::IndexType<std::int64_t>>;
      using Policy = Kokkos::TeamPolicy<Exec>;
      auto const rows = static_cast<std::int64_t>(input.rows());
      auto const hidden = static_cast<std::int64_t>(input.hidden());
      auto const outputs = static_cast<std::int64_t>(input.outputs());
      kernels::RowStatistics<T> const statistics{mean_.data(), inv_std_.data()};
      T const* const x = input.x.data();
      T const* const gamma = input.gamma.data();
      T const* const beta = input.beta.data();
      T const* const w = input.w.data();
      T const* const grad_y = input.grad_y.data();
      T* const q = q_.data();
      T* const dx = output.dx.data();
      T* const dgamma = output.dgamma.data();
      T* const dbeta = output.dbeta.data();
      T* const dw = output.dw.data();
      T* const dbias = output.dbias.data();

      layer_norm_("tessera::layernorm_linear_backward::unfused::statistics", exec, x, gamma, beta, statistics, nullptr);
      Kokkos::parallel_for(
          "tessera::layernorm_linear_backward::unfused::dbias", Range(exec, 0, outputs), KOKKOS_LAMBDA(std::int64_t o) {
            T sum = 0;
            for (std::int64_t r = 0; r < rows; ++r) sum += grad_y[r * outputs + o];
            dbias[o] = sum;
          });
      if (outputs > 0) {
        Kokkos::parallel_for(
            "tessera::layernorm_linear_backward::unfused::dw", Grid(exec, {0, 0}, {hidden, outputs}, {32, 8}),
            KOKKOS_LAMBDA(std::int64_t h, std::int64_t o) {
              T sum = 0;
              for (std::int64_t r = 0; r < rows; ++r) {
                T const xhat = statistics.row(x, hidden, r)(x[r * hidden + h]);
                sum += grad_y[r * outputs + o] * (gamma[h] * xhat + beta[h]);
              }
              dw[o * hidden + h] = sum;
            });
      }
      if (rows > 0) {
        Kokkos::parallel_for(
            "tessera::layernorm_linear_backward::unfused::q", Grid(exec, {0, 0}, {hidden, rows}, {32, 8}),
            KOKKOS_LAMBDA(std::int64_t h, std::int64_t r) {
              T sum = 0;
              for (std::int64_t o = 0; o < outputs; ++o) sum += grad_y[r * outputs + o] * w[o * hidden + h];
              q[r * hidden + h] = sum;
            });
      }
      Kokkos::parallel_for(
          "tessera::layernorm_linear_backward::unfused::dgamma", Range(exec, 0, hidden), KOKKOS_LAMBDA(std::int64_t h) {
            T sum = 0;
            for (std::int64_t r = 0; r < rows; ++r) {
              sum += q[r * hidden + h] * statistics.row(x, hidden, r)(x[r * hidden + h]);
            }
            dgamma[h] = sum;
          });
      Kokkos::parallel_for(
          "tessera::layernorm_linear_backward::unfused::dbeta", Range(exec, 0, hidden), KOKKOS_LAMBDA(std::int64_t h) {
            T sum = 0;
            for (std::int64_t r = 0; r < rows; ++r) sum += q[r * hidden + h];
            dbeta[h] = sum;
          });
      if (rows == 0) return;
      Kokkos::parallel_for(
          "tessera::layernorm_linear_backward::unfused::dx", Policy(exec, league_, threads_, lanes),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            std::int64_t const first = team.league_rank() * hidden;
            auto const row = statistics.row(x, hidden, team.league_rank());
            T sum = 0;
            Kokkos::parallel_reduce(
                Kokkos::TeamVectorRange(team, hidden),
                [&](std::int64_t h, T& partial) { partial += q[first + h] * gamma[h]; }, sum);
            T sum_of_x = 0;
            Kokkos::parallel_reduce(
                Kokkos::TeamVectorRange(team, hidden),
                [&](std::int64_t h, T& partial) { partial += q[first + h] * gamma[h] * row(x[first + h]); }, sum_of_x);
            T const mean = sum / static_cast<T>(hidden);
            T const mean_of_x = sum_of_x / static_cast<T>(hidden);
            Kokkos::parallel_for(Kokkos::TeamVectorRange(team, hidden), [&](std::int64_t h) {
              dx[first + h] = row.inv_std * ((q[first + h] * gamma[h] - mean) - row(x[first + h]) * mean_of_x);
            });
          });
    }

   private:
    static constexpr int lanes = is_gpu<Exec> ? 32 : 1;

    kernels::LayerNorm<Exec, T> layer_norm_;
    int threads_;
    int league_;
    Kokkos::View<T*, typename Exec::memory_space> mean_;
    Kokkos::View<T*, typename Exec::memory_space> inv_std_;
    Kokkos::View<T*, typename Exec::memory_space> q_;
  };
};

VariantRows unfused() { return rows<LayernormLinearBackward, Unfused>(); }

}  // namespace tessera::layernorm_linear_backward
