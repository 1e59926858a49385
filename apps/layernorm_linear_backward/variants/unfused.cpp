/// \file
/// The plain Kokkos answer: one kernel per formula; a thread makes one element of the result, or a team sums over a
/// row.

#include <cstdint>

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear_backward {

/// Returns xhat(r, h). Distances from a row's first element are exact if its mean is large and its variance small.
template <class Exec, class T>
struct Normalised {
  Array<T const**, typename Exec::memory_space> x;
  Array<T*, typename Exec::memory_space> mean;
  Array<T*, typename Exec::memory_space> inv_std;

  KOKKOS_FUNCTION T operator()(std::int64_t r, std::int64_t h) const {
    return ((x(r, h) - x(r, 0)) - mean(r)) * inv_std(r);
  }
};

struct Unfused {
  static constexpr VariantInfo info{
      .name = "unfused", .level = Level::team, .summary = "one plain kernel per formula, the baseline"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& in)
        : statistics_(exec, in.rows(), in.hidden(), in.parameters.eps, in.parameters.team,
                      "tessera::layernorm_linear_backward::unfused::statistics"),
          threads_(kernels::team_size(exec, in.parameters.team, lanes)),
          league_(league_of(in.rows())),
          mean_("tessera::layernorm_linear_backward::unfused::mean", in.rows()),
          inv_std_("tessera::layernorm_linear_backward::unfused::inv_std", in.rows()),
          q_(unset("tessera::layernorm_linear_backward::unfused::q"), in.rows(), in.hidden()) {}

    void operator()(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& in,
                    OutputOn<LayernormLinearBackward, Exec, T> const& out) const {
      using Rows = Kokkos::TeamPolicy<Exec>;
      using Index = std::int64_t;
      auto const rows = static_cast<Index>(in.rows());
      auto const hidden = static_cast<Index>(in.hidden());
      auto const outputs = static_cast<Index>(in.outputs());
      auto const q = q_;
      Normalised<Exec, T> const xhat{in.x, mean_, inv_std_};

      statistics_.statistics(exec, in.x, mean_, inv_std_);
      Kokkos::parallel_for(
          "tessera::layernorm_linear_backward::unfused::dbias", over<Index>(exec, outputs), KOKKOS_LAMBDA(Index o) {
            T sum = 0;
            for (Index r = 0; r < rows; ++r) sum += in.grad_y(r, o);
            out.dbias(o) = sum;
          });
      if (outputs > 0) {
        Kokkos::parallel_for(
            "tessera::layernorm_linear_backward::unfused::dw", grid(exec, outputs, hidden),
            KOKKOS_LAMBDA(Index h, Index o) {
              T sum = 0;
              for (Index r = 0; r < rows; ++r) sum += in.grad_y(r, o) * (in.gamma(h) * xhat(r, h) + in.beta(h));
              out.dw(o, h) = sum;
            });
      }
      if (rows > 0) {
        Kokkos::parallel_for(
            "tessera::layernorm_linear_backward::unfused::q", grid(exec, rows, hidden),
            KOKKOS_LAMBDA(Index h, Index r) {
              T sum = 0;
              for (Index o = 0; o < outputs; ++o) sum += in.grad_y(r, o) * in.w(o, h);
              q(r, h) = sum;
            });
      }
      Kokkos::parallel_for(
          "tessera::layernorm_linear_backward::unfused::dgamma", over<Index>(exec, hidden), KOKKOS_LAMBDA(Index h) {
            T sum = 0;
            for (Index r = 0; r < rows; ++r) sum += q(r, h) * xhat(r, h);
            out.dgamma(h) = sum;
          });
      Kokkos::parallel_for(
          "tessera::layernorm_linear_backward::unfused::dbeta", over<Index>(exec, hidden), KOKKOS_LAMBDA(Index h) {
            T sum = 0;
            for (Index r = 0; r < rows; ++r) sum += q(r, h);
            out.dbeta(h) = sum;
          });
      if (rows == 0) return;
      Kokkos::parallel_for(
          "tessera::layernorm_linear_backward::unfused::dx", Rows(exec, league_, threads_, lanes),
          KOKKOS_LAMBDA(typename Rows::member_type const& team) {
            Index const r = team.league_rank();
            auto const row = Kokkos::TeamVectorRange(team, hidden);
            T sum = 0;
            Kokkos::parallel_reduce(row, [&](Index h, T& part) { part += q(r, h) * in.gamma(h); }, sum);
            T sum_of_x = 0;
            Kokkos::parallel_reduce(
                row, [&](Index h, T& part) { part += q(r, h) * in.gamma(h) * xhat(r, h); }, sum_of_x);
            T const mean = sum / static_cast<T>(hidden);
            T const mean_of_x = sum_of_x / static_cast<T>(hidden);
            Kokkos::parallel_for(row, [&](Index h) {
              out.dx(r, h) = xhat.inv_std(r) * ((q(r, h) * in.gamma(h) - mean) - xhat(r, h) * mean_of_x);
            });
          });
    }

   private:
    static constexpr int lanes = kernels::warp_lanes<Exec>;

    // Columns are the first, fastest index: neighbouring threads of a GPU read neighbouring elements.
    [[nodiscard]] static auto grid(Exec const& exec, std::int64_t rows, std::int64_t cols) {
      return kernels::columns_first<std::int64_t>(exec, {.rows = static_cast<std::size_t>(rows),
                                                         .cols = static_cast<std::size_t>(cols),
                                                         .tile_rows = 8,
                                                         .tile_cols = 32});
    }

    kernels::LayerNorm<Exec, T> statistics_;
    int threads_;
    int league_;
    Array<T*, typename Exec::memory_space> mean_;
    Array<T*, typename Exec::memory_space> inv_std_;
    Array<T**, typename Exec::memory_space> q_;
  };
};

VariantRows unfused() { return rows<LayernormLinearBackward, Unfused>(); }

}  // namespace tessera::layernorm_linear_backward
