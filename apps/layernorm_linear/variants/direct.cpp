/// \file
/// The plain Kokkos answer: a team a row, nested reductions for its mean and variance, then one dot product an output,
/// which normalises the row again.

#include <cstdint>
#include <type_traits>

#include "../problem.hpp"

#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear {

struct Direct {
  static constexpr VariantInfo info{
      .name = "direct", .level = Level::team, .summary = "a team a row, nested reductions, the baseline"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team, lanes)), rows_(league_of(input.rows())) {}

    void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input,
                    OutputOn<LayernormLinear, Exec, T> const& output) const {
      using Policy = Kokkos::TeamPolicy<Exec>;
      if (rows_ == 0) return;
      auto const& [x, gamma, beta, w, bias, parameters] = input;
      auto const hidden = static_cast<std::int64_t>(input.hidden());
      auto const outputs = static_cast<std::int64_t>(input.outputs());
      auto const eps = static_cast<T>(parameters.eps);
      T const* const x_data = x.data();
      T const* const gamma_data = gamma.data();
      T const* const beta_data = beta.data();
      T const* const w_data = w.data();
      T const* const bias_data = bias.data();
      T* const y_data = output.y.data();
      Kokkos::parallel_for(
          "tessera::layernorm_linear::direct::rows", Policy(exec, rows_, threads_, lanes),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            T const* const of_x = x_data + team.league_rank() * hidden;
            T* const of_y = y_data + team.league_rank() * outputs;
            // Distances from the first element: exact where the mean is large and the variance small.
            kernels::NormalisedRow<T> row{of_x[0], T(0), T(0)};
            T sum = 0;
            Kokkos::parallel_reduce(
                Kokkos::TeamVectorRange(team, hidden),
                [&](std::int64_t h, T& partial) { partial += of_x[h] - row.shift; }, sum);
            row.mean = sum / static_cast<T>(hidden);
            T squares = 0;
            Kokkos::parallel_reduce(
                Kokkos::TeamVectorRange(team, hidden),
                [&](std::int64_t h, T& partial) {
                  T const distance = (of_x[h] - row.shift) - row.mean;
                  partial += distance * distance;
                },
                squares);
            row.inv_std = T(1) / Kokkos::sqrt(squares / static_cast<T>(hidden) + eps);
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, outputs), [&](std::int64_t o) {
              T const* const of_w = w_data + o * hidden;
              T dot = 0;
              Kokkos::parallel_reduce(
                  Kokkos::ThreadVectorRange(team, hidden),
                  [&](std::int64_t h, T& partial) {
                    partial += of_w[h] * (gamma_data[h] * row(of_x[h]) + beta_data[h]);
                  },
                  dot);
              Kokkos::single(Kokkos::PerThread(team), [&] { of_y[o] = dot + bias_data[o]; });
            });
          });
    }

   private:
    static constexpr int lanes = is_gpu<Exec> ? 32 : 1;

    int threads_;
    int rows_;
  };
};

VariantRows direct() { return rows<LayernormLinear, Direct>(); }

}  // namespace tessera::layernorm_linear
