/// \file
/// Batcher's bitonic network. A merge of two sorted halves first compares each key with its mirror image, then with the
/// key half as far away, and so on. Each comparison leaves the smaller key at the lower place, so that keys beyond the
/// end, which would be larger than all others, are just left out. A team sorts a tile in scratch; after that each step
/// of the network is a launch. The network moves keys past equal ones: it is not stable.

#include "../tile_plan.hpp"

#include <bit>

namespace tessera::sort {

template <class T>
struct ComparePair {
  collective::KeyOrder<T> order;

  // A step of the merge of two halves to runs of `run` keys. Its pairs are `stride` apart, mirrored in the first step.
  template <class Keys>
  KOKKOS_FUNCTION void operator()(Keys const& keys, std::size_t n, std::size_t run, std::size_t stride,
                                  std::size_t pair) const {
    std::size_t const place = pair & (stride - 1);  // the remainder: a stride is a power of two
    std::size_t const low = 2 * (pair - place) + place;
    std::size_t const high = stride == run / 2 ? low + run - 1 - 2 * place : low + stride;
    if (high < n && order.before(keys(high), keys(low))) Kokkos::kokkos_swap(keys(low), keys(high));
  }
};

struct TeamBitonic {
  static constexpr VariantInfo info{.name = "team_bitonic",
                                    .level = Level::team,
                                    .summary = "bitonic network: tiles in scratch, then steps in memory; keys only",
                                    .lesson = true};
  template <ExecutionSpace Exec, class T>
  struct Plan : TilePlan<Exec, T, 1> {
    Plan(Exec const& exec, InputOn<Sort, Exec, T> const& input) : Plan::TilePlan(exec, input) {
      this->tile = std::bit_floor(this->tile);
      require_keys_only<T>(input);
    }

    void operator()(Exec const& exec, InputOn<Sort, Exec, T> const& in, OutputOn<Sort, Exec, T> const& out) const {
      ComparePair<T> const compare{in.parameters.template order<T>()};
      std::size_t const n = in.keys.extent(0);
      std::size_t const size = this->tile;
      Kokkos::parallel_for(
          "tessera::sort::team_bitonic::tiles", this->policy(exec, n),
          KOKKOS_LAMBDA(typename Plan::Policy::member_type const& team) {
            typename Plan::Tile const keys(team.team_scratch(0), size);
            std::size_t const begin = team.league_rank() * size;
            auto const each = Kokkos::TeamThreadRange(team, Kokkos::min(size, n - begin));
            Kokkos::parallel_for(each, [&](std::size_t i) { keys(i) = in.keys(begin + i); });
            for (std::size_t run = 2; run <= size; run *= 2) {
              for (std::size_t stride = run / 2; stride > 0; stride /= 2) {
                team.team_barrier();
                Kokkos::parallel_for(Kokkos::TeamThreadRange(team, size / 2),
                                     [&](std::size_t pair) { compare(keys, n - begin, run, stride, pair); });
              }
            }
            team.team_barrier();
            Kokkos::parallel_for(each, [&](std::size_t i) { out.keys(begin + i) = keys(i); });
            leave_scratch(team);
          });
      for (std::size_t run = 2 * size; run / 2 < n; run *= 2) {
        for (std::size_t stride = run / 2; stride > 0; stride /= 2) {
          Kokkos::parallel_for(
              "tessera::sort::team_bitonic::step", over(exec, tiles_of(n, 2 * stride) * stride),
              KOKKOS_LAMBDA(std::size_t pair) { compare(out.keys, n, run, stride, pair); });
        }
      }
    }
  };
};

VariantRows team_bitonic() { return rows<Sort, TeamBitonic>(); }

}  // namespace tessera::sort
