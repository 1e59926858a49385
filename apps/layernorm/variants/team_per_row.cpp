/// \file
/// The plain Kokkos answer: one team per row, with a nested reduction for its mean, one for its variance, and a loop
/// for the result.

#include <algorithm>
#include <cmath>

#include "../problem.hpp"

#include <tessera/collective/team/normalised_row.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm {

struct TeamPerRow {
  static constexpr VariantInfo info{
      .name = "team_per_row", .level = Level::team, .summary = "one team per row, nested reductions, the baseline"};

  template <ExecutionSpace Exec, Floating T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Layernorm, Exec, T> const& input)
        : rows_(league_of(input.x.extent(0))),
          threads_(kernels::team_size(exec, input.parameters.team, lanes)),
          steps_(steps_of_sum(static_cast<double>(input.x.extent(1)), threads_ * lanes) + 10) {}

    void operator()(Exec const& exec, ArrayOn<T const**, Exec> const& x, ArrayOn<T const*, Exec> const& gamma,
                    ArrayOn<T const*, Exec> const& beta, ArrayOn<T**, Exec> const& y,
                    Layernorm::Parameters const& parameters) const {
      using Policy = Kokkos::TeamPolicy<Exec>;
      using A = Arithmetic<T>;
      auto const eps = static_cast<A>(parameters.eps);
      if (rows_ == 0) return;
      Kokkos::parallel_for(
          "tessera::layernorm::team_per_row::rows", Policy(exec, rows_, threads_, lanes),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            auto const r = team.league_rank();
            auto const row = Kokkos::TeamVectorRange(team, x.extent(1));
            auto const normalised =
                team::normalised_row<A>(row, [&](std::size_t h) { return A(x(r, h)); }, x.extent(1), eps);
            Kokkos::parallel_for(row, [&](std::size_t h) { y(r, h) = gamma(h) * normalised(x(r, h)) + beta(h); });
          });
    }

    /// Counts a row's sum, 8 for an xhat, and 2 for y.
    [[nodiscard]] double rounding_steps() const { return steps_; }

   private:
    static constexpr int lanes = kernels::warp_lanes<Exec>;

    // Kokkos distributes the elements evenly; at worst the workers' sums are joined one after the other.
    [[nodiscard]] static double steps_of_sum(double elements, int workers) {
      return std::min(elements, std::ceil(elements / workers) + workers);
    }

    int rows_;
    int threads_;
    double steps_;
  };
};

VariantRows team_per_row() { return rows<Layernorm, TeamPerRow>(); }

}  // namespace tessera::layernorm
