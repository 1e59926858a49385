/// \file
/// A team per row: its reduction gives the sum, one thread divides the sum by the number of columns, and a broadcast
/// tells the mean to all threads and lanes, which divide. Without the broadcast only one thread would know the mean.

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::divide_by_mean {

struct TeamBroadcast {
  static constexpr VariantInfo info{.name = "team_broadcast",
                                    .level = Level::team,
                                    .summary = "a team per row: reduction, broadcast of the mean, quotients",
                                    .lesson = true};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    using Teams = Kokkos::TeamPolicy<Exec>;

    Plan(Exec const& exec, InputOn<DivideByMean, Exec, T> const& input)
        : lanes_(kernels::lanes_for<Exec>(input.a.extent(1))),
          threads_(kernels::team_size(exec, input.parameters.team, lanes_)) {}

    void operator()(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T**, Exec> const& out) const {
      if (a.size() == 0) return;
      Kokkos::parallel_for(
          "tessera::divide_by_mean::team_broadcast::rows", Teams(exec, league_of(a.extent(0)), threads_, lanes_),
          KOKKOS_LAMBDA(typename Teams::member_type const& team) {
            int const r = team.league_rank();
            auto const columns = Kokkos::TeamVectorRange(team, a.extent(1));
            Mean<T> mean{};
            for (T scale = 1;; scale = collective::shrink<T>) {  // once more if the sum has overflowed
              T sum;
              Kokkos::parallel_reduce(columns, [&](std::size_t c, T& part) { part += a(r, c) * scale; }, sum);
              mean.scale = scale;
              if (team.team_rank() == 0) mean.value = sum / static_cast<T>(a.extent(1));
              if (collective::is_in_range(sum) || scale < 1) break;
            }
            team.team_broadcast(mean.value, 0);
            Kokkos::parallel_for(columns, [&](std::size_t c) { out(r, c) = quotient(a(r, c), mean); });
          });
    }

   private:
    int lanes_, threads_;
  };
};

VariantRows team_broadcast() { return rows<DivideByMean, TeamBroadcast>(); }

}  // namespace tessera::divide_by_mean
