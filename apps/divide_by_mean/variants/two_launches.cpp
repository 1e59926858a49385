/// \file
/// The plain Kokkos answer: one launch writes the mean of each row to memory, another launch divides. The end of the
/// first launch tells every team all means; a broadcast inside a team needs no second launch.

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::divide_by_mean {

struct TwoLaunches {
  static constexpr VariantInfo info{.name = "two_launches",
                                    .level = Level::team,
                                    .summary = "one launch for the means, one for the quotients, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    using Teams = Kokkos::TeamPolicy<Exec>;

    Plan(Exec const& exec, InputOn<DivideByMean, Exec, T> const& input)
        : lanes_(kernels::lanes_for<Exec>(input.a.extent(1))),
          threads_(kernels::team_size(exec, input.parameters.team, lanes_)),
          means_(unset("tessera::divide_by_mean::two_launches::means"), input.a.size() == 0 ? 0 : input.a.extent(0)) {}

    void operator()(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T**, Exec> const& out) const {
      if (a.size() == 0) return;
      auto const means = means_;
      Kokkos::parallel_for(
          "tessera::divide_by_mean::two_launches::mean", Teams(exec, league_of(a.extent(0)), threads_, lanes_),
          KOKKOS_LAMBDA(typename Teams::member_type const& team) {
            int const r = team.league_rank();
            auto const columns = Kokkos::TeamVectorRange(team, a.extent(1));
            for (T scale = 1;; scale = collective::shrink<T>) {  // once more if the sum has overflowed
              T sum;
              Kokkos::parallel_reduce(columns, [&](std::size_t c, T& part) { part += a(r, c) * scale; }, sum);
              Kokkos::single(Kokkos::PerTeam(team), [&] { means(r) = {sum / static_cast<T>(a.extent(1)), scale}; });
              if (collective::is_in_range(sum) || scale < 1) break;
            }
          });
      Kokkos::parallel_for(
          "tessera::divide_by_mean::two_launches::divide",
          kernels::columns_first<std::int64_t>(exec, kernels::mdrange_tiles<Exec>(a.extent(0), a.extent(1))),
          KOKKOS_LAMBDA(std::int64_t c, std::int64_t r) { out(r, c) = quotient(a(r, c), means(r)); });
    }

   private:
    int lanes_, threads_;
    ArrayOn<Mean<T>*, Exec> means_;
  };
};

VariantRows two_launches() { return rows<DivideByMean, TwoLaunches>(); }

}  // namespace tessera::divide_by_mean
