/// \file
/// A tile goes through scratch several times: it is written in order, and read with neighbouring lanes --bank-stride
/// elements apart. On a GPU, 4-byte words lie in 32 banks in turn, and a bank delivers one word at a time: a warp takes
/// one step to read with a stride of 1, and 32 steps with a stride of 32 (bank conflicts). Lanes that read the same
/// word (stride 0) get it together. Global memory is read and written in order.

#include "../model.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::memory_access {

struct Banks {
  static constexpr VariantInfo info{
      .name = "banks",
      .level = Level::team,
      .summary = "--rounds through scratch, neighbouring lanes --bank-stride elements apart"};

  template <ExecutionSpace Exec, class T>
  class Plan : public Told {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    using Tile = ScratchView<T*, Exec>;

    Plan(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& input)
        : Told(machine_of<Exec>(), "staged", input.in.extent(0), 2 * sizeof(T)),
          threads_(kernels::team_size(exec, input.parameters.team)),
          league_(league_of(tiles_of(input.in.extent(0), bank_tile))) {
      int const count = static_cast<int>(std::min<std::size_t>(bank_tile, input.in.extent(0)));
      auto const spread = static_cast<int>(input.parameters.spread);
      tell_passes(bank_ways(machine(), count, sizeof(T),
                            [&](std::size_t t) {
                              return static_cast<std::size_t>(bank_place(static_cast<int>(t), count, spread));
                            }),
                  "-way conflicts");
    }

    void operator()(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& input,
                    OutputOn<MemoryAccess, Exec, T> const& output) const {
      auto const in = input.in;
      auto const out = output.staged;
      auto const spread = static_cast<int>(input.parameters.spread);
      auto const rounds = static_cast<int>(input.parameters.rounds);
      Kokkos::parallel_for(
          "tessera::memory_access::banks::stage",
          with_scratch(Policy(exec, league_, threads_), 2 * Tile::shmem_size(bank_tile)),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            constexpr int tile = bank_tile;
            Tile const even(team.team_scratch(0), tile);
            Tile const odd(team.team_scratch(0), tile);
            std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * tile;
            int const count = static_cast<int>(Kokkos::min<std::size_t>(tile, in.extent(0) - begin));
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int t) { even(t) = in(begin + t); });
            team.team_barrier();
            for (int round = 0; round < rounds; ++round) {
              Tile const& from = round % 2 == 0 ? even : odd;
              Tile const& to = round % 2 == 0 ? odd : even;
              Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count),
                                   [&](int t) { to(t) = from(bank_place(t, count, spread)); });
              team.team_barrier();  // the next round reads what others wrote, and writes to places that others read
            }
            Tile const& last = rounds % 2 == 0 ? even : odd;
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int t) { out(begin + t) = last(t); });
            leave_scratch(team);
          });
    }

   private:
    int threads_;
    int league_;
  };
};

VariantRows banks() { return rows<MemoryAccess, Banks>(); }

}  // namespace tessera::memory_access
