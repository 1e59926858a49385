// Clusters of teams: their model, which must expose typical mistakes of a kernel, the cluster's collectives, and
// clusters of the device.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include "adversarial_cluster.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/team/cluster.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/launch/cluster.hpp>

#include "operators_for_tests.hpp"

namespace tessera::test {
namespace {

static_assert(team::Cluster<AdversarialCluster::Member>);
static_assert(!team::Cluster<LeagueMember>);
#if defined(KOKKOS_ENABLE_CUDA) && CUDART_VERSION >= 11080
static_assert(team::Cluster<kernels::ClusterTeam>);
#endif

using Op = Compose<std::uint32_t>;
using Value = Op::Value;

enum class Mistake : std::uint8_t {
  none,
  no_first_barrier,     // values are read before other teams have written them
  team_barrier_first,   // the same: a barrier of the team does not order teams
  no_last_barrier,      // a team ends while others still read its scratch
  early_reuse,          // a team overwrites what others still read
  wrong_rank,           // every team reads its neighbour's value
  rank_past_the_end,    // a team that does not exist
  one_team_leaves_out,  // a barrier that one team leaves out
  one_thread_leaves_out
};

// cluster_reduce, with a mistake. Every thread writes what it found.
void reduce_with(Mistake mistake, AdversarialCluster::Member const& team, std::vector<Value> const& in,
                 std::vector<Value>& out) {
  Op const op;
  ScratchView<Value*, AdversarialSpace> const values(team.team_scratch(0), 1);
  Value* const own = values.data();
  if (team.team_rank() == team.team_size() - 1) *own = in[static_cast<std::size_t>(team.cluster_rank())];
  Value total{};
  if (mistake == Mistake::none) {
    total = team::cluster_reduce(team, own, op);
  } else {
    bool const leaves_out = (mistake == Mistake::one_team_leaves_out && team.cluster_rank() == 1) ||
                            (mistake == Mistake::one_thread_leaves_out && team.team_rank() == 1);
    if (mistake == Mistake::team_barrier_first) team.team_barrier();
    if (mistake != Mistake::no_first_barrier && mistake != Mistake::team_barrier_first && !leaves_out) {
      team.cluster_barrier();
    }
    int const past = mistake == Mistake::rank_past_the_end ? 1 : 0;
    total = op.identity();
    for (int rank = 0; rank < team.cluster_size(); ++rank) {
      int const of = mistake == Mistake::wrong_rank ? (rank + 1) % team.cluster_size() : rank + past;
      total = op(total, *team.scratch_of(of, own));
    }
    if (mistake == Mistake::early_reuse) *own = {};
    if (mistake != Mistake::no_last_barrier) team.cluster_barrier();
  }
  out[static_cast<std::size_t>(team.cluster_rank() * team.team_size() + team.team_rank())] = total;
}

// Returns what is wrong, or an empty string.
std::string outcome(Mistake mistake, int teams, int threads, Order team_order, Order order) {
  std::vector<Value> in;
  for (int rank = 0; rank < teams; ++rank) in.push_back(Op::sample(random_bits(static_cast<std::uint64_t>(rank))));
  std::vector<Value> out(static_cast<std::size_t>(teams * threads));
  AdversarialCluster cluster(teams, threads, 64);
  auto const error = cluster.run(team_order, order,
                                 [&](AdversarialCluster::Member const& team) { reduce_with(mistake, team, in, out); });
  if (error) return *error;
  Value const expected = serial_reduce(in, Op{});
  for (Value const& value : out) {
    if (value.a != expected.a || value.b != expected.b) return "a wrong result";
  }
  return "";
}

TEST(Cluster, ReducesInEveryOrder) {
  for (int const teams : {1, 2, 3, 4, 8}) {
    for (int const threads : {1, 2, 5}) {
      for (Order const team_order : team_orders) {
        for (Order const order : all_orders) {
          EXPECT_EQ(outcome(Mistake::none, teams, threads, team_order, order), "") << teams << " of " << threads;
        }
      }
    }
  }
}

// Some orders together must find each mistake.
void expect_found(Mistake mistake, std::string const& what) {
  for (int const teams : {2, 3, 8}) {
    for (int const threads : {2, 3}) {
      std::string all;
      for (Order const team_order : team_orders) {
        for (Order const order : all_orders) all += outcome(mistake, teams, threads, team_order, order) + "\n";
      }
      EXPECT_NE(all.find(what), std::string::npos) << teams << " teams of " << threads << ": " << all;
    }
  }
}

TEST(ClusterModel, FindsNoFirstBarrier) { expect_found(Mistake::no_first_barrier, "a wrong result"); }
TEST(ClusterModel, FindsBarrierOfTheTeam) { expect_found(Mistake::team_barrier_first, "a wrong result"); }
TEST(ClusterModel, FindsNoLastBarrier) { expect_found(Mistake::no_last_barrier, "a wrong result"); }
TEST(ClusterModel, FindsEarlyReuse) { expect_found(Mistake::early_reuse, "a wrong result"); }
TEST(ClusterModel, FindsWrongRank) { expect_found(Mistake::wrong_rank, "a wrong result"); }
TEST(ClusterModel, FindsRankPastTheEnd) { expect_found(Mistake::rank_past_the_end, "in its cluster"); }
TEST(ClusterModel, FindsTeamThatLeavesOutABarrier) {
  expect_found(Mistake::one_team_leaves_out, "a team has ended, others wait at a cluster barrier");
}
TEST(ClusterModel, FindsThreadThatLeavesOutABarrier) {
  expect_found(Mistake::one_thread_leaves_out, "disagree on their next barrier");
}

// Every team's threads know their ranks, reduce, add to counters of other teams, and use scratch up to its end. A
// team's value is its league rank, an element of a non-commutative operator's sample.
template <class Exec>
struct EveryFunction {
  using Lanes = lane::On<Exec, lane::natural_width<Exec>>;
  using Values = ScratchView<Value*, Exec>;
  using Counts = ScratchView<std::uint32_t*, Exec>;

  int counts;                                             // per team, in scratch
  Kokkos::View<int*, typename Exec::memory_space> wrong;  // per team

  [[nodiscard]] static std::size_t scratch_bytes(int counts) {
    return Values::shmem_size(1) + Counts::shmem_size(static_cast<std::size_t>(counts));
  }
  KOKKOS_FUNCTION static Value value(int league_rank) {
    return Op::sample(random_bits(static_cast<std::uint64_t>(league_rank)));
  }

  template <team::Cluster Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    Op const op;
    int const size = team.cluster_size();
    int const rank = team.cluster_rank();
    int const league = team.league_rank();
    Values const values(team.team_scratch(0), 1);
    Counts const counters(team.team_scratch(0), counts);
    int errors = league % size == rank ? 0 : 1;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, counts), [&](int i) { counters(i) = 0; });
    Kokkos::single(Kokkos::PerTeam(team), [&] { values(0) = value(league); });
    Value const total = team::cluster_reduce(team, values.data(), op);
    Value expected = value(league - rank);
    for (int other = 1; other < size; ++other) expected = op(expected, value(league - rank + other));
    if (total.a != expected.a || total.b != expected.b) ++errors;
    // Each lane of each thread adds once to the last counter of each team; one elected lane adds to the first.
    for (int other = 0; other < size; ++other) {
      lanes.each([&](int) { team.add_to(other, &counters(counts - 1), 1u); });
    }
    auto const elected = lanes.elect();
    lanes.each(
        [&](int, bool is_elected) {
          if (is_elected) team.add_to((rank + 1) % size, &counters(0), 1000u);
        },
        elected);
    team.cluster_barrier();
    auto const threads = static_cast<std::uint32_t>(team.team_size());
    if (counters(counts - 1) != static_cast<std::uint32_t>(size) * threads * Lanes::width) ++errors;
    if (counters(0) != 1000u * threads) ++errors;
    if (errors > 0) Kokkos::atomic_add(&wrong(league), errors);
  }
};

TEST(Cluster, EveryFunctionUnderTheModel) {
  using Kernel = EveryFunction<AdversarialSpace>;
  for (int const teams : {1, 2, 4, 7}) {
    for (int const threads : {1, 3}) {
      for (Order const team_order : team_orders) {
        for (Order const order : all_orders) {
          AdversarialCluster cluster(teams, threads, Kernel::scratch_bytes(100));
          Kokkos::View<int*, Kokkos::HostSpace> const wrong("wrong", static_cast<std::size_t>(3 * teams));
          for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(cluster.run(team_order, order, Kernel{100, wrong}, i, 3).value_or(""), "");
          }
          for (int i = 0; i < 3 * teams; ++i) EXPECT_EQ(wrong(static_cast<std::size_t>(i)), 0) << teams;
        }
      }
    }
  }
}

TEST(Cluster, OnEverySpace) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    Exec const exec;
    using Kernel = EveryFunction<Exec>;
    // From little scratch to almost 227 KB, the most that a team may have.
    for (int const counts : {2, 10000, 57000}) {
      for (int const size : {1, 2, 3, 4, 8, 16}) {
        for (int const threads : {1, 3, 16}) {
          constexpr int clusters = 5;
          Kokkos::View<int*, typename Exec::memory_space> const wrong("wrong",
                                                                      static_cast<std::size_t>(clusters * size));
          try {
            kernels::ClusterLaunch<Exec, Kernel> const launch(exec,
                                                              {.size = size,
                                                               .threads = threads,
                                                               .lanes = lane::vector_length<Exec>(Kernel::Lanes::width),
                                                               .scratch_bytes = Kernel::scratch_bytes(counts)});
            launch("tessera::tests::cluster", exec, clusters, Kernel{counts, wrong});
          } catch (Skip const& skip) {
            bool const has_clusters = std::string(skip.what()).find("no clusters") == std::string::npos;
            EXPECT_TRUE(!has_clusters || size == 16) << size << " teams: " << skip.what();
            continue;
          }
          auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), wrong);
          for (int team = 0; team < clusters * size; ++team) {
            EXPECT_EQ(found(static_cast<std::size_t>(team)), 0) << size << " teams of " << threads << ", " << counts;
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace tessera::test
