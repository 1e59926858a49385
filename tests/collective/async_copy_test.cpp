// Asynchronous copies into scratch: the emulations for hosts, and the copies of each space.

#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include "emulated_copies.hpp"

#include <tessera/collective/async_copy.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::test {
namespace {

static_assert(collective::AsyncCopies<collective::HardwareCopies>);
static_assert(collective::AsyncCopies<EmulatedCopies<Arrival::at_once>>);
static_assert(collective::AsyncCopies<EmulatedCopies<Arrival::at_wait>>);

// The example in the header.
TEST(AsyncCopy, LateOnesArriveWithTheirGroup) {
  EmulatedCopies<Arrival::at_wait> const copies;
  std::int32_t const x[2] = {7, 8};
  std::int32_t s[2] = {-1, -1};
  copies.copy_async<4>(s, x, true);
  copies.commit();
  copies.copy_async<4>(s + 1, x + 1, false);
  copies.commit();
  EXPECT_EQ(s[0], -1);
  copies.wait<1>();
  EXPECT_EQ(s[0], 7);
  EXPECT_EQ(s[1], -1);
  copies.wait<0>();
  EXPECT_EQ(s[1], 0);
}

TEST(AsyncCopy, LateOnesReadWhatIsThereThen) {
  EmulatedCopies<Arrival::at_wait> const copies;
  std::int64_t x = 1;
  std::int64_t s = -1;
  copies.copy_async<8>(&s, &x, true);
  x = 2;
  copies.wait<0>();  // nothing was committed, so there is no group
  EXPECT_EQ(s, -1);
  copies.commit();
  copies.commit();  // an empty group counts as well
  copies.wait<1>();
  EXPECT_EQ(s, 2);
}

TEST(AsyncCopy, EarlyOnesArriveAtOnce) {
  EmulatedCopies<Arrival::at_once> const copies;
  std::int32_t const x[4] = {1, 2, 3, 4};
  std::int32_t s[4] = {};
  copies.copy_async<16>(s, x, true);
  EXPECT_EQ(std::memcmp(s, x, sizeof(x)), 0);
  copies.commit();
  copies.wait<0>();
  EXPECT_EQ(std::memcmp(s, x, sizeof(x)), 0);
}

/// One thread copies `count` pieces of `Bytes` through scratch in two groups; every third piece is filled with zeros.
template <class Exec, int Bytes>
struct Through {
  using Policy = Kokkos::TeamPolicy<Exec>;
  static constexpr int words = Bytes / 4;
  static constexpr int count = 12;
  struct alignas(Bytes) Piece {
    std::int32_t word[words];
  };
  using Tile = ScratchView<double*, Exec>;
  static constexpr int doubles = count * Bytes / 8 + 2;

  Kokkos::View<Piece*, Exec> in;
  Kokkos::View<std::int32_t*, Exec> out;

  KOKKOS_FUNCTION void operator()(typename Policy::member_type const& team) const {
    Tile const tile(team.team_scratch(0), doubles);
    // Pieces of 16 bytes need 16-byte alignment, which a scratch View does not guarantee.
    auto const address = reinterpret_cast<std::uintptr_t>(tile.data());
    auto* const pieces = reinterpret_cast<Piece*>((address + Bytes - 1) / Bytes * Bytes);
    collective::HardwareCopies const copies;
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      for (int i = 0; i < count; ++i) {
        copies.copy_async<Bytes>(pieces + i, &in(i), i % 3 != 2);
        if (i == count / 2) copies.commit();
      }
      copies.commit();
      copies.wait<0>();
    });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count * words),
                         [&](int i) { out(i) = pieces[i / words].word[i % words]; });
    leave_scratch(team);
  }
};

template <class Exec, int Bytes>
void passes_through() {
  using Kernel = Through<Exec, Bytes>;
  Exec const exec;
  Kokkos::View<typename Kernel::Piece*, Exec> const in("in", Kernel::count);
  Kokkos::View<std::int32_t*, Exec> const out("out", Kernel::count * Kernel::words);
  auto const host_in = Kokkos::create_mirror_view(in);
  auto const host_out = Kokkos::create_mirror_view(out);
  for (int i = 0; i < Kernel::count * Kernel::words; ++i) host_in(i / Kernel::words).word[i % Kernel::words] = 100 + i;
  Kokkos::deep_copy(in, host_in);
  typename Kernel::Policy const policy(exec, 1, 1);
  Kokkos::parallel_for("tessera::tests::async_copy", with_scratch(policy, Kernel::Tile::shmem_size(Kernel::doubles)),
                       Kernel{in, out});
  Kokkos::deep_copy(host_out, out);
  for (int i = 0; i < Kernel::count * Kernel::words; ++i) {
    int const expected = i / Kernel::words % 3 == 2 ? 0 : 100 + i;
    EXPECT_EQ(host_out(i), expected) << i << " of pieces of " << Bytes << " on " << space_name<Exec>();
  }
}

TEST(AsyncCopy, PassesThroughScratchOnEverySpace) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    passes_through<Exec, 4>();
    passes_through<Exec, 8>();
    passes_through<Exec, 16>();
  });
}

TEST(AsyncCopy, HostsHaveNone) { EXPECT_FALSE(collective::has_async_copies(Kokkos::DefaultHostExecutionSpace())); }

}  // namespace
}  // namespace tessera::test
