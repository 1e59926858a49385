// The split barrier: its models under a team that runs its threads in the worst order, which must expose typical
// mistakes of a kernel, and the barrier of each space.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include "adversarial_team.hpp"
#include "emulated_split_barrier.hpp"

#include <tessera/collective/team/split_barrier.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::test {
namespace {

enum class Mistake : std::uint8_t {
  none,
  no_arrival,             // one thread neither arrives nor waits at one phase
  arrival_twice,          // one thread arrives twice at one phase
  no_wait,                // all threads go on from one phase without waiting
  waits_for_old_phase,    // with the first token
  edges_before_wait,      // reads what neighbours write
  interior_is_too_large,  // writes what neighbours still read
  one_buffer              // writes into the buffer that is read
};

constexpr int length = 37;
constexpr int iterations = 5;
constexpr std::uint32_t poison = 0xdeadbeef;

// Five times the sum of an element and its neighbours. Each thread keeps one run of the array. Between arrival and wait
// it makes the elements that need only its own run, and that no neighbour reads.
template <class Barrier>
void iterate(AdversarialTeam::Member const& member, typename Barrier::State* state, Mistake mistake,
             std::vector<std::uint32_t> const& in, std::vector<std::uint32_t> (&buffers)[2]) {
  int const run = (length + member.team_size() - 1) / member.team_size();
  int const begin = std::min(length, member.team_rank() * run);
  int const end = std::min(length, begin + run);
  int const margin = mistake == Mistake::interior_is_too_large ? 0 : 1;
  int const inner = std::min(end, begin + margin);
  int const inner_end = std::max(inner, end - margin);
  bool const is_second = member.team_rank() == 1;
  auto* from = &buffers[0];
  auto* to = &buffers[mistake == Mistake::one_buffer ? 0 : 1];
  auto const apply = [&](int first, int last) {
    for (int i = first; i < last; ++i) {
      (*to)[i] = (i > 0 ? (*from)[i - 1] : 0) + (*from)[i] + (i + 1 < length ? (*from)[i + 1] : 0);
    }
  };
  Barrier barrier(member, state);
  for (int i = begin; i < end; ++i) (*from)[i] = in[i];
  auto const oldest = barrier.arrive();
  auto token = oldest;
  for (int k = 0; k < iterations; ++k) {
    bool const here = is_second && k == 2;
    bool const waits = !(here && mistake == Mistake::no_arrival) && !(k == 2 && mistake == Mistake::no_wait);
    apply(inner, inner_end);
    if (mistake == Mistake::edges_before_wait) {
      apply(begin, inner);
      apply(inner_end, end);
    }
    if (waits) barrier.wait(mistake == Mistake::waits_for_old_phase ? oldest : token);
    if (mistake != Mistake::edges_before_wait) {
      apply(begin, inner);
      apply(inner_end, end);
    }
    if (!(is_second && k == 1 && mistake == Mistake::no_arrival)) token = barrier.arrive();
    if (here && mistake == Mistake::arrival_twice) token = barrier.arrive();
    std::swap(from, to);
  }
  barrier.wait(token);
  barrier.invalidate(member);
}

std::vector<std::uint32_t> expected(std::vector<std::uint32_t> now) {
  for (int k = 0; k < iterations; ++k) {
    std::vector<std::uint32_t> next(now.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
      next[i] = (i > 0 ? now[i - 1] : 0) + now[i] + (i + 1 < now.size() ? now[i + 1] : 0);
    }
    now = next;
  }
  return now;
}

// Returns what is wrong in one order of one model, or nothing.
template <Switch where>
std::optional<std::string> outcome(Mistake mistake, int threads, Order order) {
  AdversarialTeam team(threads);
  std::vector<std::uint32_t> in(length);
  for (int i = 0; i < length; ++i) in[i] = static_cast<std::uint32_t>(random_bits(static_cast<std::uint64_t>(i)));
  std::vector<std::uint32_t> buffers[2] = {std::vector(length, poison), std::vector(length, poison)};
  EmulatedBarrierState state;
  auto const error = team.run(order, 1, [&](AdversarialTeam::Member const& member) {
    iterate<EmulatedSplitBarrier<where>>(member, &state, mistake, in, buffers);
  });
  if (error) return error;
  if (buffers[mistake == Mistake::one_buffer ? 0 : iterations % 2] != expected(in)) return "a wrong result";
  return std::nullopt;
}

TEST(SplitBarrier, KernelIsRightInEveryOrder) {
  for (int const threads : {1, 2, 3, 8, 13, 37, 40}) {
    for (Order const order : all_orders) {
      EXPECT_EQ(outcome<Switch::at_wait>(Mistake::none, threads, order).value_or(""), "") << threads;
      EXPECT_EQ(outcome<Switch::at_arrive>(Mistake::none, threads, order).value_or(""), "") << threads;
    }
  }
}

// Both models and some orders together must find each mistake, in small teams and in large ones.
std::string found(Mistake mistake, int threads) {
  std::string all;
  for (Order const order : all_orders) {
    all += outcome<Switch::at_wait>(mistake, threads, order).value_or("") + "\n";
    all += outcome<Switch::at_arrive>(mistake, threads, order).value_or("") + "\n";
  }
  return all;
}
void expect_found(Mistake mistake, std::string const& what) {
  for (int const threads : {2, 3, 8}) {
    std::string const all = found(mistake, threads);
    EXPECT_NE(all.find(what), std::string::npos) << threads << " threads: " << all;
  }
}

TEST(SplitBarrierModels, FindNoArrival) { expect_found(Mistake::no_arrival, "threads arrived at phase"); }
TEST(SplitBarrierModels, FindArrivalTwice) { expect_found(Mistake::arrival_twice, "threads arrived at phase"); }
TEST(SplitBarrierModels, FindNoWait) { expect_found(Mistake::no_wait, "a wrong result"); }
TEST(SplitBarrierModels, FindWaitForOldPhase) {
  expect_found(Mistake::waits_for_old_phase, "it waits for phase 0, but has arrived at 2 phases");
}
TEST(SplitBarrierModels, FindEdgesBeforeWait) { expect_found(Mistake::edges_before_wait, "a wrong result"); }
TEST(SplitBarrierModels, FindInteriorThatIsTooLarge) { expect_found(Mistake::interior_is_too_large, "a wrong result"); }
TEST(SplitBarrierModels, FindOneBuffer) { expect_found(Mistake::one_buffer, "a wrong result"); }

constexpr int phases = 500;

// In each phase every thread publishes a number, arrives, and reads its neighbour's number after the wait. Two numbers
// per thread: what a phase reads is overwritten two phases later.
template <class Exec>
struct Exchange {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using State = ScratchView<team::SplitBarrierState*, Exec>;
  using Numbers = ScratchView<int*, Exec>;

  Kokkos::View<int*, Exec> wrong;  // per team

  [[nodiscard]] static std::size_t scratch_bytes(int threads) {
    return State::shmem_size(1) + Numbers::shmem_size(2 * threads);
  }
  KOKKOS_FUNCTION static int number(int league, int rank, int phase) { return 100000 * league + 1000 * rank + phase; }

  KOKKOS_FUNCTION void operator()(typename Policy::member_type const& member) const {
    State const state(member.team_scratch(0), 1);
    Numbers const numbers(member.team_scratch(0), 2 * member.team_size());
    int const rank = member.team_rank();
    int const size = member.team_size();
    int const league = member.league_rank();
    int errors = 0;
    for (int use = 0; use < 2; ++use) {  // the memory may serve again
      team::SplitBarrier const barrier(member, state.data());
      for (int phase = 0; phase < phases; ++phase) {
        int const half = phase % 2 * size;
        numbers(half + rank) = number(league, rank, phase);
        auto const token = barrier.arrive();
        barrier.wait(token);
        int const neighbour = (rank + 1) % size;
        if (numbers(half + neighbour) != number(league, neighbour, phase)) ++errors;
      }
      barrier.invalidate(member);
    }
    if (errors > 0) Kokkos::atomic_add(&wrong(league), errors);
    leave_scratch(member);
  }
};

TEST(SplitBarrier, ExchangesOnEverySpace) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    Exec const exec;
    int const most = kernels::most_team_threads(exec, 1);
    for (int const threads : {1, 2, 3, 4, 32, 33, 256}) {
      if (threads > most) continue;
      constexpr int teams = 5;
      Kokkos::View<int*, Exec> const wrong("wrong", teams);
      typename Exchange<Exec>::Policy const policy(exec, teams, threads);
      Kokkos::parallel_for("tessera::tests::split_barrier",
                           with_scratch(policy, Exchange<Exec>::scratch_bytes(threads)), Exchange<Exec>{wrong});
      auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), wrong);
      for (int team = 0; team < teams; ++team) {
        EXPECT_EQ(found(team), 0) << threads << " threads on " << space_name<Exec>();
      }
    }
  });
}

}  // namespace
}  // namespace tessera::test
