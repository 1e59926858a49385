/// \file
/// The plain Kokkos answer: one team per row, with nested reductions for its mean and variance, then one dot product
/// per output, which normalises the row again.

#include "../problem.hpp"

#include <tessera/collective/team/normalised_row.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear {

struct Direct {
  static constexpr VariantInfo info{
      .name = "direct", .level = Level::team, .summary = "one team per row, nested reductions, the baseline"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& in)
        : rows_(league_of(in.rows())), threads_(kernels::team_size(exec, in.parameters.team, lanes)) {}

    void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& in,
                    OutputOn<LayernormLinear, Exec, T> const& out) const {
      using Policy = Kokkos::TeamPolicy<Exec>;
      if (rows_ == 0) return;
      auto const hidden = in.hidden();
      auto const outputs = in.outputs();
      auto const eps = static_cast<T>(in.parameters.eps);
      Kokkos::parallel_for(
          "tessera::layernorm_linear::direct::rows", Policy(exec, rows_, threads_, lanes),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            auto const r = team.league_rank();
            auto const row = Kokkos::TeamVectorRange(team, hidden);
            auto const normalised =
                team::normalised_row<T>(row, [&](std::size_t h) { return in.x(r, h); }, hidden, eps);
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, outputs), [&](std::size_t o) {
              T dot = 0;
              Kokkos::parallel_reduce(
                  Kokkos::ThreadVectorRange(team, hidden),
                  [&](std::size_t h, T& part) {
                    part += in.w(o, h) * (in.gamma(h) * normalised(in.x(r, h)) + in.beta(h));
                  },
                  dot);
              Kokkos::single(Kokkos::PerThread(team), [&] { out.y(r, o) = dot + in.bias(o); });
            });
          });
    }

   private:
    static constexpr int lanes = kernels::warp_lanes<Exec>;

    int rows_;
    int threads_;
  };
};

VariantRows direct() { return rows<LayernormLinear, Direct>(); }

}  // namespace tessera::layernorm_linear
