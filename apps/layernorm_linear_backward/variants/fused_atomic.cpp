/// \file
/// One launch for all gradients: a team takes a few rows and adds their contributions to dgamma, dbeta, dw and dbias
/// atomically, in any order, so bits differ from run to run. q, the gradient of ln, is kept in the memory of dx until
/// its row's means are known, so nothing else is stored.

#include <cstddef>

#include "../problem.hpp"

#include <tessera/collective/team/normalised_row.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear_backward {

struct FusedAtomic {
  static constexpr VariantInfo info{.name = "fused_atomic",
                                    .level = Level::team,
                                    .summary = "one launch: some rows per team, all parameter gradients by atomics",
                                    .deterministic = false};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    static constexpr bool atomic_sums = true;

    Plan(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team, lanes)),
          league_(league_of(tiles_of(input.rows(), rows_of_team))) {}

    void operator()(Exec const& exec, ArrayOn<T const**, Exec> const& x, ArrayOn<T const*, Exec> const& gamma,
                    ArrayOn<T const*, Exec> const& beta, ArrayOn<T const**, Exec> const& w,
                    ArrayOn<T const**, Exec> const& grad_y, ArrayOn<T**, Exec> const& dx,
                    ArrayOn<T*, Exec> const& dgamma, ArrayOn<T*, Exec> const& dbeta, ArrayOn<T**, Exec> const& dw,
                    ArrayOn<T*, Exec> const& dbias, LayernormLinearBackward::Parameters const& parameters) const {
      using Policy = Kokkos::TeamPolicy<Exec>;
      using Statistics = ScratchView<T*, Exec>;
      auto const eps = static_cast<T>(parameters.eps);
      Kokkos::deep_copy(exec, dgamma, T(0));  // teams add to these
      Kokkos::deep_copy(exec, dbeta, T(0));
      Kokkos::deep_copy(exec, dw, T(0));
      Kokkos::deep_copy(exec, dbias, T(0));
      if (league_ == 0) return;
      Kokkos::parallel_for(
          "tessera::layernorm_linear_backward::fused_atomic::rows",
          with_scratch(Policy(exec, league_, threads_, lanes), 2 * Statistics::shmem_size(rows_of_team)),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            Statistics const means(team.team_scratch(0), rows_of_team);
            Statistics const inv_stds(team.team_scratch(0), rows_of_team);
            std::size_t const outputs = w.extent(0);
            std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * rows_of_team;
            std::size_t const end = Kokkos::min(begin + rows_of_team, x.extent(0));
            auto const row = Kokkos::TeamVectorRange(team, x.extent(1));
            auto const count = static_cast<T>(x.extent(1));

            for (std::size_t r = begin; r < end; ++r) {
              auto const normalised =
                  team::normalised_row<T>(row, [&](std::size_t h) { return x(r, h); }, x.extent(1), eps);
              T sum_of_g = 0;  // g = q * gamma
              Kokkos::parallel_reduce(
                  row,
                  [&](std::size_t h, T& part) {
                    T q = 0;
                    for (std::size_t o = 0; o < outputs; ++o) q += grad_y(r, o) * w(o, h);
                    dx(r, h) = q;
                    part += q * gamma(h);
                  },
                  sum_of_g);
              // No barrier is needed: a thread has the same h in each loop, and a reduction waits for all threads.
              T sum_of_gx = 0;
              Kokkos::parallel_reduce(
                  row, [&](std::size_t h, T& part) { part += dx(r, h) * gamma(h) * normalised(x(r, h)); }, sum_of_gx);
              T const mean_of_g = sum_of_g / count;
              T const mean_of_gx = sum_of_gx / count;
              Kokkos::parallel_for(row, [&](std::size_t h) {
                T const q = dx(r, h);
                T const xhat = normalised(x(r, h));
                Kokkos::atomic_add(&dgamma(h), q * xhat);
                Kokkos::atomic_add(&dbeta(h), q);
                dx(r, h) = normalised.inv_std * ((q * gamma(h) - mean_of_g) - xhat * mean_of_gx);
              });
              Kokkos::single(Kokkos::PerTeam(team), [&]() {
                means(r - begin) = normalised.mean;
                inv_stds(r - begin) = normalised.inv_std;
              });
            }

            team.team_barrier();  // the statistics of all rows are in scratch
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, outputs), [&](std::size_t o) {
              Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, x.extent(1)), [&](std::size_t h) {
                T sum = 0;
                for (std::size_t r = begin; r < end; ++r) {
                  T const xhat = ((x(r, h) - x(r, 0)) - means(r - begin)) * inv_stds(r - begin);
                  sum += grad_y(r, o) * (gamma(h) * xhat + beta(h));
                }
                Kokkos::atomic_add(&dw(o, h), sum);
              });
              Kokkos::single(Kokkos::PerThread(team), [&]() {
                T sum = 0;
                for (std::size_t r = begin; r < end; ++r) sum += grad_y(r, o);
                Kokkos::atomic_add(&dbias(o), sum);
              });
            });
            leave_scratch(team);
          });
    }

   private:
    static constexpr int lanes = kernels::warp_lanes<Exec>;
    static constexpr std::size_t rows_of_team = 8;

    int threads_;
    int league_;
  };
};

VariantRows fused_atomic() { return rows<LayernormLinearBackward, FusedAtomic>(); }

}  // namespace tessera::layernorm_linear_backward
