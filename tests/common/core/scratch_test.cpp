// Scratch memory of a team, on every space.

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::test {
namespace {

/// Every team reverses its tile through two arrays in scratch: each thread reads elements that another thread wrote.
template <class Exec>
struct Reverse {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Tile = ScratchView<std::int32_t*, Exec>;
  static constexpr int tile = 64;

  Kokkos::View<std::int32_t*, Exec> values;
  int level;

  KOKKOS_FUNCTION void operator()(typename Policy::member_type const& team) const {
    Tile const first(team.team_scratch(level), tile / 2);
    Tile const second(team.team_scratch(level), tile / 2);
    int const begin = team.league_rank() * tile;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile),
                         [&](int i) { (i < tile / 2 ? first(i) : second(i - tile / 2)) = values(begin + i); });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile), [&](int i) {
      int const from = tile - 1 - i;
      values(begin + i) = from < tile / 2 ? first(from) : second(from - tile / 2);
    });
    leave_scratch(team);
  }
};

template <class Exec>
void reverses_every_tile(int level) {
  using Kernel = Reverse<Exec>;
  Exec const exec;
  int const n = 100 * Kernel::tile;
  Kokkos::View<std::int32_t*, Exec> const values("values", n);
  auto const host = Kokkos::create_mirror_view(values);
  for (int i = 0; i < n; ++i) host(i) = i;
  Kokkos::deep_copy(values, host);
  int const threads = exec.concurrency() < 4 ? 1 : 4;
  std::size_t const bytes = 2 * Kernel::Tile::shmem_size(Kernel::tile / 2);
  auto const policy = with_scratch(typename Kernel::Policy(exec, n / Kernel::tile, threads), bytes, level);
  EXPECT_EQ(policy.scratch_size(level, threads), bytes);
  Kokkos::parallel_for("tessera::tests::reverse", policy, Kernel{values, level});
  Kokkos::deep_copy(host, values);
  for (int i = 0; i < n; ++i) {
    int const of_tile = i % Kernel::tile;
    ASSERT_EQ(host(i), i - of_tile + Kernel::tile - 1 - of_tile) << i << " on " << space_name<Exec>();
  }
}

TEST(Scratch, IsTheTeamsOnEveryLevel) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    reverses_every_tile<Exec>(0);
    reverses_every_tile<Exec>(1);
  });
}

}  // namespace
}  // namespace tessera::test
