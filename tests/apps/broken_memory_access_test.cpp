// Wrong accesses must be caught: work that was not done must not count as fast, and a wrong model must not appear
// beside a measurement.

#include <algorithm>
#include <cmath>

#include "broken_rows.hpp"

#include "../../apps/memory_access/model.hpp"
#include "../../apps/memory_access/problem.hpp"

#include <tessera/core/scratch.hpp>

namespace tessera::memory_access {
namespace {

// Kernel bodies are free templates: a private member function such as a test body must not contain a device lambda.
template <class Exec, class Body>
void for_range(Exec const& exec, std::size_t count, Body const& body) {
  Kokkos::parallel_for("tessera::tests::broken_memory_access", over(exec, count), body);
}

// Index i, below walk * stride, processes element i % walk * stride + i / walk.
template <class T>
struct Walks {
  T const* in;
  T* out;
  std::size_t n;
  std::size_t walk;
  std::size_t stride;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const element = i % walk * stride + i / walk;
    if (element < n) out[element] = in[element];
  }
};

// to[index] = from[i], or to[i] = from[index].
template <class T>
struct Permutes {
  T const* in;
  T* out;
  std::size_t n;
  std::size_t factor;
  bool scatters;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const index = i * factor % n;
    out[scatters ? index : i] = in[scatters ? i : index];
  }
};

// Gathers for scatter, scatters for gather.
template <bool WritesGathered>
struct OtherWayRound {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& in,
                  OutputOn<MemoryAccess, Exec, T> const& out) const {
    std::size_t const n = in.in.extent(0);
    T* const to = WritesGathered ? out.gathered.data() : out.scattered.data();
    for_range(exec, n, Permutes<T>{in.in.data(), to, n, permutation_factor(n), WritesGathered});
  }
  [[nodiscard]] std::vector<WrittenField> outputs() const {
    return {{.field = WritesGathered ? "gathered" : "scattered"}};
  }
};

// Only whole 16-byte pieces, --bytes beyond a boundary.
struct MovesPiece {
  unsigned char const* in;
  unsigned char* out;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    for (std::size_t k = 16 * i; k < 16 * i + 16; ++k) out[k] = in[k];
  }
};

// No bytes before the first piece, or behind.
template <bool LeavesOutFirst>
struct LeavesOutBytes {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& in,
                  OutputOn<MemoryAccess, Exec, T> const& out) const {
    auto const shift = LeavesOutFirst ? static_cast<std::size_t>(in.parameters.bytes) : 0;
    for_range(exec, (in.in.extent(0) * sizeof(T) - shift) / 16,
              MovesPiece{reinterpret_cast<unsigned char const*>(in.in.data()) + shift,
                         reinterpret_cast<unsigned char*>(out.copied.data()) + shift});
  }
  [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "copied"}}; }
};

// Indices that a walk through the tile reads; `skip` is the step of the walk.
template <class T>
struct Stages {
  T const* in;
  T* out;
  std::size_t n;
  int spread;
  int rounds;
  int skip;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const begin = i / bank_tile * bank_tile;
    int const count = static_cast<int>(Kokkos::min<std::size_t>(bank_tile, n - begin));
    int place = static_cast<int>(i - begin);
    for (int round = 0; round < rounds; ++round) {
      place = (place * spread + skip * (place * spread / count)) % count;
    }
    out[i] = in[begin + static_cast<std::size_t>(place)];
  }
};

// Each walk reads the same places, or a round less.
template <int Skip, int FewerRounds>
struct WrongPlaces {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& in,
                  OutputOn<MemoryAccess, Exec, T> const& out) const {
    for_range(exec, in.in.extent(0),
              Stages<T>{in.in.data(), out.staged.data(), in.in.extent(0), static_cast<int>(in.parameters.spread),
                        static_cast<int>(in.parameters.rounds) - FewerRounds, Skip});
  }
  [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "staged"}}; }
};

// The variant `banks` without the barrier between its rounds.
template <class Exec, class T>
struct StagesAtOnce {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Tile = ScratchView<T*, Exec>;
  Array<T const*, typename Exec::memory_space> in;
  Array<T*, typename Exec::memory_space> out;
  int spread;
  KOKKOS_FUNCTION void operator()(typename Policy::member_type const& team) const {
    constexpr int tile = bank_tile;
    Tile const from(team.team_scratch(0), tile);
    Tile const to(team.team_scratch(0), tile);
    std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * tile;
    int const count = static_cast<int>(Kokkos::min<std::size_t>(tile, in.extent(0) - begin));
    auto const places = Kokkos::TeamThreadRange(team, count);
    Kokkos::parallel_for(places, [&](int t) { from(t) = in(begin + t); });
    Kokkos::parallel_for(places, [&](int t) { to(t) = from(bank_place(t, count, spread)); });
    Kokkos::parallel_for(places, [&](int t) { out(begin + t) = to(t); });
    leave_scratch(team);
  }
};

// Reads a round before all have written it.
struct LacksBarrier {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& input,
                  OutputOn<MemoryAccess, Exec, T> const& output) const {
    using Stages = StagesAtOnce<Exec, T>;
    int const league = static_cast<int>((input.in.extent(0) + bank_tile - 1) / bank_tile);
    typename Stages::Policy const policy(exec, league, std::min(2, exec.concurrency()));
    Kokkos::parallel_for("tessera::tests::broken_memory_access",
                         with_scratch(policy, 2 * Stages::Tile::shmem_size(bank_tile)),
                         Stages{input.in, output.staged, static_cast<int>(input.parameters.spread)});
  }
  [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "staged"}}; }
};

// The end of every element's chain.
template <class T>
struct Chains {
  T* out;
  Branch branch;
  std::uint32_t branches;
  int iterations;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    auto number = static_cast<std::uint32_t>(i);
    std::uint32_t const mine = branch_of(number, branch, branches);
    for (int k = 0; k < iterations; ++k) number = number * 1664525u + 2 * mine + 1;
    out[i] = static_cast<T>(number >> 16);
  }
};

// One branch for all, or an iteration less.
template <bool OneBranch, int Fewer>
struct SavesWork {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& in,
                  OutputOn<MemoryAccess, Exec, T> const& out) const {
    auto const branches = OneBranch ? 1u : static_cast<std::uint32_t>(in.parameters.branches);
    for_range(exec, in.in.extent(0),
              Chains<T>{out.diverged.data(), in.parameters.branch, branches,
                        static_cast<int>(in.parameters.iterations) - Fewer});
  }
  [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "diverged"}}; }
};

ParameterMap const by_warp{{"branch", std::string("warp")}};
ParameterMap const by_element{{"branch", std::string("element")}};

TEST(BrokenMemoryAccess, LeavesOutLastStride) {
  // Walks n / stride, rounded down.
  testing::expect_caught<MemoryAccess>(
      testing::writes("copied",
                      []<class Exec, class T>(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& in,
                                              OutputOn<MemoryAccess, Exec, T> const& out) {
                        std::size_t const n = in.in.extent(0);
                        auto const stride = static_cast<std::size_t>(in.parameters.stride);
                        for_range(exec, n / stride * stride,
                                  Walks<T>{in.in.data(), out.copied.data(), n, n / stride, stride});
                      }),
      1001, {}, "copied");
}
TEST(BrokenMemoryAccess, WalksOnce) {
  // Only the first element of each stride.
  testing::expect_caught<MemoryAccess>(
      testing::writes("copied",
                      []<class Exec, class T>(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& in,
                                              OutputOn<MemoryAccess, Exec, T> const& out) {
                        std::size_t const n = in.in.extent(0);
                        auto const stride = static_cast<std::size_t>(in.parameters.stride);
                        std::size_t const walk = (n + stride - 1) / stride;
                        for_range(exec, walk, Walks<T>{in.in.data(), out.copied.data(), n, walk, stride});
                      }),
      1000, {}, "copied");
}
TEST(BrokenMemoryAccess, ScattersForGather) {
  testing::expect_caught<MemoryAccess>(OtherWayRound<true>{}, 1000, {}, "gathered");
}
TEST(BrokenMemoryAccess, GathersForScatter) {
  testing::expect_caught<MemoryAccess>(OtherWayRound<false>{}, 1000, {}, "scattered");
}
TEST(BrokenMemoryAccess, ReadsInOrder) {
  // Forgets the index.
  testing::expect_caught<MemoryAccess>(
      testing::writes("gathered",
                      []<class Exec, class T>(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& in,
                                              OutputOn<MemoryAccess, Exec, T> const& out) {
                        std::size_t const n = in.in.extent(0);
                        for_range(exec, n, Permutes<T>{in.in.data(), out.gathered.data(), n, 1, false});
                      }),
      100, {}, "gathered");
}
TEST(BrokenMemoryAccess, LeavesOutOffset) {
  // Copies nothing before the offset.
  testing::expect_caught<MemoryAccess>(
      testing::writes("copied",
                      []<class Exec, class T>(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& in,
                                              OutputOn<MemoryAccess, Exec, T> const& out) {
                        auto const offset = static_cast<std::size_t>(in.parameters.offset);
                        for_range(
                            exec, in.in.extent(0) - offset,
                            Permutes<T>{in.in.data() + offset, out.copied.data() + offset, in.in.extent(0), 1, false});
                      }),
      100, {}, "copied");
}
// 1001 floats are whole pieces plus four bytes: before the first piece or behind the last.
TEST(BrokenMemoryAccess, LeavesOutBytesBefore) {
  testing::expect_caught<MemoryAccess>(LeavesOutBytes<true>{}, 1001, {}, "copied");
}
TEST(BrokenMemoryAccess, LeavesOutBytesBehind) {
  testing::expect_caught<MemoryAccess>(LeavesOutBytes<false>{}, 1001, {}, "copied");
}
TEST(BrokenMemoryAccess, WalksReadTheSamePlaces) {
  testing::expect_caught<MemoryAccess>(WrongPlaces<0, 0>{}, 3000, {}, "staged");
}
TEST(BrokenMemoryAccess, SkipsRound) { testing::expect_caught<MemoryAccess>(WrongPlaces<1, 1>{}, 3000, {}, "staged"); }
TEST(BrokenMemoryAccess, LacksBarrier) {
  testing::expect_caught<MemoryAccess>(LacksBarrier{}, 1 << 20, {{"rounds", std::int64_t{1}}}, "staged", 20,
                                       testing::Where::hosts);
}
TEST(BrokenMemoryAccess, TakesOneBranch) {
  testing::expect_caught<MemoryAccess>(SavesWork<true, 0>{}, 100, {}, "diverged");
  testing::expect_caught<MemoryAccess>(SavesWork<true, 0>{}, 100, by_warp, "diverged");
  testing::expect_caught<MemoryAccess>(SavesWork<true, 0>{}, 100, by_element, "diverged");
}
TEST(BrokenMemoryAccess, SkipsIteration) {
  testing::expect_caught<MemoryAccess>(SavesWork<false, 1>{}, 100, {}, "diverged");
}

TEST(MemoryAccessModel, PermutationHitsEveryElementOnce) {
  for (std::uint64_t const n : {1, 2, 3, 4, 10, 64, 1000, 1024, 30030, 65537}) {
    std::vector<std::size_t> index;
    for (std::uint64_t i = 0; i < n; ++i) index.push_back(i * permutation_factor(n) % n);
    EXPECT_EQ(count_different(index), n);
  }
}

// 32 consecutive floats of a warp lie in 4 sectors, 32 doubles in 8; elements a sector or more apart need one sector
// each.
TEST(MemoryAccessModel, UnitsTogether) {
  auto const units = [](Machine const& machine, std::size_t stride, std::size_t size, std::size_t offset = 0) {
    std::size_t const n = 1 << 20;
    return units_together(machine, n, size, [=](std::size_t i) { return i % (n / stride) * stride + offset; });
  };
  EXPECT_EQ(units(cuda_machine, 1, 4), 4);
  EXPECT_EQ(units(cuda_machine, 1, 8), 8);
  EXPECT_EQ(units(cuda_machine, 2, 4), 8);
  EXPECT_EQ(units(cuda_machine, 8, 4), 32);
  EXPECT_EQ(units(cuda_machine, 64, 4), 32);
  EXPECT_EQ(units(cuda_machine, 4, 8), 32);
  EXPECT_EQ(units(cuda_machine, 1, 4, 1), 5);
  EXPECT_EQ(units(cuda_machine, 1, 4, 8), 4);
  EXPECT_EQ(units(hip_machine, 1, 4), 4);
  EXPECT_EQ(units(host_machine, 1, 4), 4);
  EXPECT_EQ(units(host_machine, 8, 4), 32);
  EXPECT_EQ(units(host_machine, 16, 4), 64);
  std::uint64_t const factor = permutation_factor(1000003);
  auto const permuted = [=](std::size_t i) { return static_cast<std::size_t>(i * factor % 1000003); };
  EXPECT_GE(units_together(cuda_machine, 1000003, 4, permuted), 31.8);  // the last warp is short
  EXPECT_EQ(units_together(cuda_machine, 5, 4, [](std::size_t i) { return i; }), 1);
  EXPECT_EQ(units_together(cuda_machine, 0, 4, [](std::size_t i) { return i; }), 0);
}

TEST(MemoryAccessModel, BankWays) {
  auto const ways = [](Machine const& machine, int spread, std::size_t size) {
    return bank_ways(machine, bank_tile, size, [=](std::size_t t) {
      return static_cast<std::size_t>(bank_place(static_cast<int>(t), bank_tile, spread));
    });
  };
  for (std::size_t const size : {4, 8}) {
    EXPECT_EQ(ways(cuda_machine, 0, size), 1);
    EXPECT_EQ(ways(cuda_machine, 1, size), 1);
    EXPECT_EQ(ways(cuda_machine, 2, size), 2);
    EXPECT_LT(ways(cuda_machine, 3, size), 1.2);  // 2 only in the few warps in which one walk ends and the next begins
    EXPECT_EQ(ways(cuda_machine, 32, size), size == 4 ? 32 : 16);  // 16 lanes read at a time
    EXPECT_EQ(ways(host_machine, 32, size), 1);
  }
}

TEST(MemoryAccessModel, BranchesTogether) {
  auto const taken = [](Machine const& machine, Branch branch, std::uint32_t branches) {
    return branches_together(machine, 1 << 16, [=](std::size_t i) {
      return std::size_t{branch_of(static_cast<std::uint32_t>(i), branch, branches)};
    });
  };
  EXPECT_EQ(taken(cuda_machine, Branch::lane, 4), 4);
  EXPECT_EQ(taken(cuda_machine, Branch::lane, 32), 32);
  EXPECT_EQ(taken(cuda_machine, Branch::warp, 4), 1);
  EXPECT_EQ(taken(hip_machine, Branch::warp, 4), 2);  // a wavefront has the lanes of two warps
  EXPECT_EQ(taken(cuda_machine, Branch::first, 4), 2);
  EXPECT_EQ(taken(cuda_machine, Branch::quads, 4), 2);
  EXPECT_NEAR(taken(cuda_machine, Branch::nested, 4), 3, 0.01);
  EXPECT_NEAR(taken(cuda_machine, Branch::element, 32), 32 * (1 - std::pow(31.0 / 32, 32)), 1);
  EXPECT_EQ(taken(host_machine, Branch::lane, 32), 1);
  EXPECT_EQ(branches_together(cuda_machine, 0, [](std::size_t) { return std::size_t{0}; }), 1);
}

}  // namespace
}  // namespace tessera::memory_access
