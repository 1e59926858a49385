/// \file
/// For short rows: each thread has a row, and its lanes share the columns. One lane divides the sum by the number of
/// columns; Kokkos::single hands the mean to the other lanes. No barriers: the threads of a team share nothing.

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::divide_by_mean {

struct LanesPerRow {
  static constexpr VariantInfo info{.name = "lanes_per_row",
                                    .level = Level::lane,
                                    .summary = "the lanes of one thread per row, the mean handed from lane to lane",
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
      std::size_t const of_team = is_gpu<Exec> ? threads_ : 64;  // rows
      Kokkos::parallel_for(
          "tessera::divide_by_mean::lanes_per_row::rows",
          Teams(exec, league_of(tiles_of(a.extent(0), of_team)), threads_, lanes_),
          KOKKOS_LAMBDA(typename Teams::member_type const& team) {
            std::size_t const begin = team.league_rank() * of_team;
            std::size_t const end = Kokkos::min(begin + of_team, a.extent(0));
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end), [&](std::size_t r) {
              auto const columns = Kokkos::ThreadVectorRange(team, a.extent(1));
              Mean<T> mean;
              for (T scale = 1;; scale = collective::shrink<T>) {  // once more if the sum has overflowed
                T sum;
                Kokkos::parallel_reduce(columns, [&](std::size_t c, T& part) { part += a(r, c) * scale; }, sum);
                mean.scale = scale;
                Kokkos::single(
                    Kokkos::PerThread(team), [&](T& value) { value = sum / static_cast<T>(a.extent(1)); }, mean.value);
                if (collective::is_in_range(sum) || scale < 1) break;
              }
              Kokkos::parallel_for(columns, [&](std::size_t c) { out(r, c) = quotient(a(r, c), mean); });
            });
          });
    }

   private:
    int lanes_, threads_;
  };
};

VariantRows lanes_per_row() { return rows<DivideByMean, LanesPerRow>(); }

}  // namespace tessera::divide_by_mean
