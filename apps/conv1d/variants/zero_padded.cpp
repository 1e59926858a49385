/// \file
/// Tiles with a right halo in team scratch, filled with zeros past the end of the array: every output then sums all
/// taps, and no read is guarded. scratch_halo is the guarded form.
///
/// A zero past the end adds nothing if its tap is finite. An infinite or NaN tap times zero is NaN, but the mini-app's
/// definition leaves the tap out; kernels with an infinite or NaN tap are therefore skipped.

#include <algorithm>
#include <cmath>
#include <string>

#include "../problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

struct ZeroPadded {
  static constexpr VariantInfo info{.name = "zero_padded",
                                    .level = Level::team,
                                    .summary = "tiles with a halo of zeros past the end: reads are not guarded"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Conv1d, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)),
          taps_(static_cast<int>(std::max<std::size_t>(1, taps_of(input.a, input.k)))),
          tile_(kernels::scratch_tile<Exec>(input.parameters.tile, sizeof(T),
                                            2 * taps_of(input.a, input.k) * sizeof(T))) {
      // The first tap never meets a zero past the end: it is multiplied by the output's own element.
      auto const k = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.k);
      for (int j = 1; j < taps_; ++j) {
        if (!std::isfinite(static_cast<double>(k(j)))) {
          throw Skip("k[" + std::to_string(j) +
                     "] is infinite or NaN (a zero past the end times it would be NaN); use "
                     "--variant scratch_halo");
        }
      }
    }

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& k,
                    ArrayOn<T*, Exec> const& out) const {
      using Policy = Kokkos::TeamPolicy<Exec>;
      using Staged = ScratchView<T*, Exec>;
      std::size_t const n = a.extent(0);
      if (n == 0) return;
      int const taps = taps_;
      int const tile = tile_;
      int const places = tile + taps - 1;
      Kokkos::parallel_for(
          "tessera::conv1d::zero_padded::sum",
          with_scratch(Policy(exec, league_of(tiles_of(n, tile)), threads_),
                       Staged::shmem_size(places) + Staged::shmem_size(taps)),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            Staged const padded(team.team_scratch(0), places);
            Staged const factors(team.team_scratch(0), taps);
            std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * tile;
            int const count = n - begin < static_cast<std::size_t>(tile) ? static_cast<int>(n - begin) : tile;
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, places),
                                 [&](int i) { padded(i) = begin + i < n ? a(begin + i) : T(0); });
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, taps), [&](int j) { factors(j) = k(j); });
            team.team_barrier();
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int i) {
              Accumulator<T> sum = 0;
              for (int j = 0; j < taps; ++j) sum += product(padded(i + j), factors(j));
              out(begin + i) = static_cast<T>(sum);
            });
            leave_scratch(team);
          });
    }

   private:
    int threads_;
    int taps_;
    int tile_;
  };
};

VariantRows zero_padded() { return rows<Conv1d, ZeroPadded>(); }

}  // namespace tessera::conv1d
