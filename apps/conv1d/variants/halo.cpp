/// \file
/// The book's answer to a convolution over blocks: a team stages its tile and the elements behind it that its last
/// outputs need (the halo) in scratch. Each element is read from memory once, and once more if it lies in a halo.

#include "../problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

struct Halo {
  static constexpr VariantInfo info{.name = "halo",
                                    .level = Level::team,
                                    .summary = "tile and halo in scratch, one output per thread",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    using Tile = ScratchView<T*, Exec>;

    Plan(Exec const& exec, InputOn<Conv1d, Exec, T> const& input)
        : halo_(taps_of(input.a, input.k) == 0 ? 0 : taps_of(input.a, input.k) - 1),
          threads_(kernels::team_size(exec, input.parameters.team)),
          tile_(kernels::scratch_tile<Exec>(input.parameters.tile, sizeof(T), halo_ * sizeof(T))),
          league_(league_of(tiles_of(input.a.extent(0), tile_))) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& k,
                    ArrayOn<T*, Exec> const& out) const {
      std::size_t const n = a.extent(0), taps = taps_of(a, k), tile = tile_, with_halo = tile_ + halo_;
      Kokkos::parallel_for(
          "tessera::conv1d::halo::sum", with_scratch(Policy(exec, league_, threads_), Tile::shmem_size(with_halo)),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            Tile const staged(team.team_scratch(0), with_halo);
            std::size_t const begin = team.league_rank() * tile;
            // Zeros past the array's end: the products of these taps do not count.
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, with_halo),
                                 [&](std::size_t t) { staged(t) = begin + t < n ? a(begin + t) : T(0); });
            team.team_barrier();
            std::size_t const count = Kokkos::min(tile, n - begin);
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](std::size_t t) {
              Accumulator<T> sum = 0;
              for (std::size_t j = 0; j < taps && begin + t + j < n; ++j) sum += product(staged(t + j), k(j));
              out(begin + t) = static_cast<T>(sum);
            });
            leave_scratch(team);
          });
    }

   private:
    std::size_t halo_;
    int threads_;
    int tile_;
    int league_;
  };
};

VariantRows halo() { return rows<Conv1d, Halo>(); }

}  // namespace tessera::conv1d
