// Collectives of one team, under threads in the worst order and under Kokkos' teams.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/team/normalised_row.hpp>
#include <tessera/core/spaces.hpp>

#include "adversarial_team.hpp"
#include "guarded_array.hpp"
#include "lane_checks.hpp"
#include "operators_for_tests.hpp"
#include "team_cases.hpp"

namespace tessera::test {
namespace {

using Problem = std::optional<std::string>;

// ---- The adversarial team itself.

TEST(AdversarialTeam, RunsOneThreadAtATimeInTheChosenOrder) {
  AdversarialTeam team(3);
  auto const order_of = [&](Order order) {
    std::string log;
    EXPECT_EQ(team.run(order, 1,
                       [&](AdversarialTeam::Member const& member) {
                         for (int phase = 0; phase < 3; ++phase) {
                           if (phase > 0) member.team_barrier();
                           log += static_cast<char>('0' + member.team_rank());
                           EXPECT_EQ(member.team_size(), 3);
                         }
                       }),
              std::nullopt);
    EXPECT_EQ(team.barriers(), 2);
    return log;
  };
  EXPECT_EQ(order_of(Order::ascending), "012012012");
  EXPECT_EQ(order_of(Order::descending), "210210210");
  EXPECT_EQ(order_of(Order::rotating), "120201012");
  EXPECT_EQ(order_of(Order::random), order_of(Order::random));
}

// One thread writes and all read: without the barrier the result is wrong, whichever thread writes.
TEST(AdversarialTeam, ShowsAMissingBarrier) {
  AdversarialTeam team(4);
  for (bool const barrier : {false, true}) {
    for (int const writer : {0, 1, 3}) {
      int wrong = 0;
      for (Order const order : all_orders) {
        int shared = -1;
        EXPECT_EQ(team.run(order, 1,
                           [&](AdversarialTeam::Member const& member) {
                             if (member.team_rank() == writer) shared = 7;
                             if (barrier) member.team_barrier();
                             if (shared != 7) ++wrong;
                           }),
                  std::nullopt);
      }
      EXPECT_EQ(wrong > 0, !barrier) << writer;
    }
  }
}

TEST(AdversarialTeam, ReportsAThreadThatDoesNotArrive) {
  AdversarialTeam team(4);
  for (int const absent : {0, 2, 3}) {
    int destroyed = 0;
    struct CountsItsEnd {
      int* count;
      ~CountsItsEnd() { ++*count; }
    };
    auto const problem = team.run(Order::descending, 1, [&](AdversarialTeam::Member const& member) {
      CountsItsEnd const on_the_stack{&destroyed};
      member.team_barrier();
      if (member.team_rank() == absent) return;
      member.team_barrier();
      ADD_FAILURE() << "a barrier let threads pass that not all had reached";
    });
    EXPECT_EQ(problem, "1 of 4 threads returned after barrier 1, the others wait at the next one");
    EXPECT_EQ(destroyed, 4);
    // The team can be reused.
    EXPECT_EQ(team.run(Order::ascending, 1, [](AdversarialTeam::Member const& member) { member.team_barrier(); }),
              std::nullopt);
  }
}

TEST(AdversarialTeam, ReportsAnException) {
  AdversarialTeam team(2);
  EXPECT_EQ(team.run(Order::ascending, 1,
                     [](AdversarialTeam::Member const& member) {
                       if (member.team_rank() == 1) throw std::runtime_error("no");
                       member.team_barrier();
                     }),
            "thread 1 threw: no");
}

// ---- Tiles in scratch, in the worst order.

constexpr int sizes[] = {0, 1, 2, 3, 5, 7, 8, 9, 31, 32, 33, 63, 64, 65, 100, 255, 256, 257};
constexpr int adversarial_threads[] = {1, 2, 3, 4, 5, 7, 8};

template <class Case, class L>
[[nodiscard]] Problem run_adversarial(AdversarialTeam& team, GuardedArray<typename Case::T>& memory, Case const& tested,
                                      L const& lanes, int n, Order order, std::uint64_t seed) {
  using T = typename Case::T;
  auto const in = samples<typename Case::Operator>(static_cast<std::size_t>(n), seed);
  // Scratch ends at a guard page.
  T* const scratch = memory.last(static_cast<std::size_t>(tested.scratch_values(n, team.size())));
  std::vector<T> seen(static_cast<std::size_t>(team.size()) * (n + 1));
  poison(seen, seed);
  auto problem = team.run(order, seed, [&](AdversarialTeam::Member const& member) {
    fill_run_look(tested, member, lanes, in.data(), n, scratch, seen.data());
  });
  auto const expected = tested.expected(in);
  for (int thread = 0; thread < team.size() && !problem; ++thread) {
    auto const own = seen.begin() + thread * (n + 1);
    problem = difference(std::vector<T>(own, own + n + 1), expected);
    if (problem) *problem += " in the eyes of thread " + std::to_string(thread);
  }
  if (!problem && !memory.untouched()) problem = "wrote before the begin of its scratch";
  if (problem) {
    *problem = tested.name() + ", n = " + std::to_string(n) + ", " + std::to_string(team.size()) + " threads, " +
               std::to_string(L::width) + " lanes, " + name_of(order) + " order: " + *problem;
  }
  return problem;
}

// All sizes, team sizes and orders; stops at the first error.
template <class Case, class L>
void expect_right_in_any_order(Case const& tested, L const& lanes) {
  std::uint64_t seed = 0;
  GuardedArray<typename Case::T> memory(1500);
  for (int const threads : adversarial_threads) {
    AdversarialTeam team(threads);
    for (int const n : sizes) {
      if (n < Case::least) continue;
      for (Order const order : all_orders) {
        ASSERT_EQ(run_adversarial(team, memory, tested, lanes, n, order, ++seed), std::nullopt);
      }
    }
  }
}

using One = lane::Emulated<1>;

TEST(TeamCollectives, TreeReduceInAnyOrder) {
  expect_right_in_any_order(TreeReduceCase<Compose<std::uint32_t>>{}, One{});
  expect_right_in_any_order(TreeReduceCase<Multiply>{}, One{});
}

TEST(TeamCollectives, FoldHalvesInAnyOrder) { expect_right_in_any_order(FoldHalvesCase<WrappingSum>{}, One{}); }

TEST(TeamCollectives, FoldPairsInAnyOrder) {
  expect_right_in_any_order(FoldPairsCase<Compose<std::uint32_t>>{}, One{});
  expect_right_in_any_order(FoldPairsCase<Multiply>{}, One{});
}

TEST(TeamCollectives, HillisSteeleInPlaceInAnyOrder) {
  expect_right_in_any_order(HillisSteeleInPlaceCase<Compose<std::uint32_t>, 1>{}, One{});
  expect_right_in_any_order(HillisSteeleInPlaceCase<Compose<std::uint32_t>, 3>{}, One{});
  expect_right_in_any_order(HillisSteeleInPlaceCase<SegmentedSum, 16>{}, One{});
}

TEST(TeamCollectives, HillisSteeleInAnyOrder) {
  expect_right_in_any_order(HillisSteeleCase<Compose<std::uint32_t>>{}, One{});
  expect_right_in_any_order(HillisSteeleCase<SegmentedSum>{}, One{});
}

TEST(TeamCollectives, BlellochInAnyOrder) {
  expect_right_in_any_order(BlellochCase<Compose<std::uint32_t>>{}, One{});
  expect_right_in_any_order(BlellochCase<Multiply>{}, One{});
}

TEST(TeamCollectives, BlellochPaddedInAnyOrder) {
  expect_right_in_any_order(BlellochPaddedCase<Compose<std::uint32_t>, 1>{}, One{});
  expect_right_in_any_order(BlellochPaddedCase<Compose<std::uint32_t>, 4>{}, One{});
  expect_right_in_any_order(BlellochPaddedCase<SegmentedSum, team::bank_row<SegmentedSum::Value>>{}, One{});
}

TEST(TeamCollectives, RunScanInAnyOrder) {
  for (int const length : {1, 2, 3, 8, 64, 300}) {
    expect_right_in_any_order(RunScanCase<Compose<std::uint32_t>>{length}, One{});
  }
  expect_right_in_any_order(RunScanCase<SegmentedSum>{5}, One{});
}

TEST(TeamCollectives, LaneScanInAnyOrder) {
  for_each_width(
      []<int W>() { expect_right_in_any_order(LaneScanCase<Compose<std::uint32_t>>{}, lane::Emulated<W>{}); });
  expect_right_in_any_order(LaneScanCase<SegmentedSum>{}, lane::Emulated<4>{});
}

TEST(TeamCollectives, ScanThreadsInAnyOrder) {
  for_each_width([]<int W>() {
    using Op = Compose<std::uint32_t>;
    for (int const threads : {1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 65}) {
      AdversarialTeam team(threads);
      auto const in = samples<Op>(3 * static_cast<std::size_t>(threads), 5);
      auto const expected = scan_threads_expected<Op>(in, threads, W);
      for (Order const order : all_orders) {
        std::vector<Op::Value> scratch(2 * static_cast<std::size_t>(threads));
        std::vector<Op::Value> seen(expected.size());
        poison(scratch, 1);
        poison(seen, 2);
        ASSERT_EQ(team.run(order, 1,
                           [&](AdversarialTeam::Member const& member) {
                             scan_threads_rounds<Op>(member, lane::Emulated<W>{}, in.data(), scratch.data(),
                                                     seen.data());
                           }),
                  std::nullopt);
        ASSERT_EQ(difference(seen, expected), std::nullopt)
            << W << " lanes, " << threads << " threads, " << name_of(order);
      }
    }
  });
}

// ---- Bank conflicts of Blelloch's scan.

// Scratch values that record which positions each thread accesses between two barriers, in order.
using Asked = std::vector<std::vector<std::vector<int>>>;  // [barrier interval][thread][access]

struct CountingMember {
  AdversarialTeam::Member const& member;
  int* barriers;

  [[nodiscard]] KOKKOS_FUNCTION int team_rank() const { return member.team_rank(); }
  [[nodiscard]] KOKKOS_FUNCTION int team_size() const { return member.team_size(); }
  KOKKOS_FUNCTION void team_barrier() const {
    ++*barriers;
    member.team_barrier();
  }
};

template <class T>
struct AskedValues {
  using non_const_value_type = T;

  T* values;
  Asked* asked;
  int const* barriers;
  int thread;

  [[nodiscard]] KOKKOS_FUNCTION T& operator()(int place) const {
    KOKKOS_IF_ON_HOST((write_down(place);))
    return values[place];
  }

 private:
  void write_down(int place) const {
    auto const between = static_cast<std::size_t>(*barriers);
    if (asked->size() <= between) asked->resize(between + 1);
    auto& threads = (*asked)[between];
    if (threads.size() <= static_cast<std::size_t>(thread)) threads.resize(static_cast<std::size_t>(thread) + 1);
    threads[static_cast<std::size_t>(thread)].push_back(place);
  }
};

// Returns the largest number of different words that threads access together in one bank. A group has as many threads
// as a row has values.
[[nodiscard]] int most_passes(Asked const& asked, int row) {
  std::size_t most = 0;
  for (auto const& threads : asked) {
    for (std::size_t first = 0; first < threads.size(); first += static_cast<std::size_t>(row)) {
      auto const end = std::min(threads.size(), first + static_cast<std::size_t>(row));
      for (std::size_t k = 0;; ++k) {
        std::vector<std::set<int>> banks(static_cast<std::size_t>(row));
        bool any = false;
        for (std::size_t thread = first; thread < end; ++thread) {
          if (k >= threads[thread].size()) continue;
          any = true;
          int const place = threads[thread][k];
          banks[static_cast<std::size_t>(place % row)].insert(place);
        }
        if (!any) break;
        for (auto const& bank : banks) most = std::max(most, bank.size());
      }
    }
  }
  return static_cast<int>(most);
}

// Returns the number of passes in the scan of n ones by 64 threads.
template <class T, int Row, bool padded>
[[nodiscard]] int passes_of_blelloch(int n) {
  constexpr int threads = 64;
  Asked asked;
  std::vector<T> values(static_cast<std::size_t>(team::padded_length(n + 1, Row)), T(1));
  AdversarialTeam team(threads);
  std::vector<T> totals(threads);
  EXPECT_EQ(team.run(Order::ascending, 1,
                     [&](AdversarialTeam::Member const& member) {
                       int barriers = 0;
                       CountingMember const counting{member, &barriers};
                       AskedValues<T> const tree{values.data(), &asked, &barriers, member.team_rank()};
                       T& total = totals[static_cast<std::size_t>(member.team_rank())];
                       if constexpr (padded) {
                         total = team::blelloch(counting, team::BankPadded<AskedValues<T>, Row>{tree}, n,
                                                collective::Sum<T>{});
                       } else {
                         total = team::blelloch(counting, tree, n, collective::Sum<T>{});
                       }
                     }),
            std::nullopt);
  EXPECT_EQ(totals, std::vector<T>(threads, T(n)));
  return most_passes(asked, Row);
}

TEST(BankPadded, BlellochMeetsInNoBank) {
  EXPECT_EQ((passes_of_blelloch<int, 4, false>(8)), 2);  // the header's example
  EXPECT_EQ((passes_of_blelloch<int, 4, true>(8)), 1);
  EXPECT_EQ((passes_of_blelloch<float, team::bank_row<float>, false>(1024)), 32);
  EXPECT_EQ((passes_of_blelloch<float, team::bank_row<float>, true>(1024)), 1);
  EXPECT_EQ((passes_of_blelloch<double, team::bank_row<double>, false>(256)), 16);
  EXPECT_EQ((passes_of_blelloch<double, team::bank_row<double>, true>(256)), 1);
  EXPECT_EQ((passes_of_blelloch<float, team::bank_row<float>, true>(2048)), 2);  // the remaining conflict
}

TEST(BankPadded, PlacesAndLengths) {
  EXPECT_EQ(team::bank_row<float>, 32);
  EXPECT_EQ(team::bank_row<double>, 16);
  std::vector<int> places;
  for (int i = 0; i < 9; ++i) places.push_back(team::padded_place(i, 4));
  EXPECT_EQ(places, (std::vector<int>{0, 1, 2, 3, 5, 6, 7, 8, 10}));
  EXPECT_EQ(team::padded_length(0, 4), 0);
  EXPECT_EQ(team::padded_length(4, 4), 4);
  EXPECT_EQ(team::padded_length(5, 4), 6);
}

// The examples in the headers.
template <class Case>
[[nodiscard]] std::vector<int> documented(Case const& tested, std::vector<int> const& in, int threads) {
  AdversarialTeam team(threads);
  auto const n = static_cast<int>(in.size());
  std::vector<int> scratch(100);
  std::vector<int> seen(static_cast<std::size_t>(threads) * (n + 1));
  EXPECT_EQ(team.run(Order::ascending, 1,
                     [&](AdversarialTeam::Member const& member) {
                       fill_run_look(tested, member, lane::Emulated<2>{}, in.data(), n, scratch.data(), seen.data());
                     }),
            std::nullopt);
  return {seen.begin(), seen.begin() + n + 1};
}

struct IntSum : collective::Sum<int> {
  using Value = int;
};

TEST(TeamCollectives, DocumentedExamples) {
  std::vector<int> const digits{3, 1, 4, 1, 5, 9};
  std::vector<int> const scanned{3, 4, 8, 9, 14, 23, 0};
  for (int const threads : {1, 2, 4}) {
    EXPECT_EQ(documented(TreeReduceCase<IntSum>{}, {3, 1, 4, 1, 5}, threads).back(), 14);
    EXPECT_EQ(documented(FoldHalvesCase<IntSum>{}, {3, 1, 4, 1, 5}, threads).back(), 14);
    EXPECT_EQ(documented(FoldPairsCase<IntSum>{}, {3, 1, 4, 1, 5}, threads).back(), 14);
    EXPECT_EQ(documented(HillisSteeleCase<IntSum>{}, digits, threads), scanned);
    EXPECT_EQ(documented(HillisSteeleInPlaceCase<IntSum, 1>{}, digits, threads), scanned);
    EXPECT_EQ(documented(BlellochCase<IntSum>{}, {3, 1, 4, 1}, threads), (std::vector<int>{0, 3, 4, 8, 9}));
    EXPECT_EQ(documented(BlellochPaddedCase<IntSum, 4>{}, {3, 1, 4, 1, 5, 9, 2, 6}, threads),
              (std::vector<int>{0, 3, 4, 8, 9, 14, 23, 25, 31}));
    EXPECT_EQ(documented(RunScanCase<IntSum>{2}, digits, threads), scanned);
    EXPECT_EQ(documented(LaneScanCase<IntSum>{}, digits, threads), scanned);
  }
  EXPECT_EQ(team::blelloch_leaves(0), 1);
  EXPECT_EQ(team::blelloch_leaves(1), 1);
  EXPECT_EQ(team::blelloch_leaves(5), 8);
  EXPECT_EQ(team::blelloch_leaves(8), 8);
}

// ---- The same cases under Kokkos' teams.

template <class Exec, class T>
using DeviceView = Kokkos::View<T*, typename Exec::memory_space>;
template <class Exec, class T>
using ScratchView = Kokkos::View<T*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class Exec, class T>
[[nodiscard]] DeviceView<Exec, T> to_device(std::vector<T> const& values) {
  DeviceView<Exec, T> const view("values", values.size());
  Kokkos::deep_copy(view, Kokkos::View<T const*, Kokkos::HostSpace>(values.data(), values.size()));
  return view;
}

template <class View>
[[nodiscard]] std::vector<typename View::non_const_value_type> to_host(View const& view) {
  auto const mirror = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
  return {mirror.data(), mirror.data() + mirror.size()};
}

constexpr int league = 4;

template <class Exec, class Case, class L>
struct TileKernel {
  using T = typename Case::T;

  Case tested;
  DeviceView<Exec, T> in;    // [league, n]
  DeviceView<Exec, T> seen;  // [league, threads, n + 1]
  int n;

  KOKKOS_FUNCTION void operator()(typename Kokkos::TeamPolicy<Exec>::member_type const& team) const {
    ScratchView<Exec, T> const scratch(team.team_scratch(0), tested.scratch_values(n, team.team_size()));
    fill_run_look(tested, team, L{}, in.data() + team.league_rank() * n, n, scratch.data(),
                  seen.data() + static_cast<std::size_t>(team.league_rank()) * team.team_size() * (n + 1));
    team.team_barrier();  // on hosts the next team reuses the same scratch
  }
};

template <class Exec, class Case, class L>
[[nodiscard]] Problem run_on_space(Case const& tested, int n, int threads) {
  using T = typename Case::T;
  auto const in = samples<typename Case::Operator>(static_cast<std::size_t>(league * n), n + threads);
  auto const each = static_cast<std::size_t>(n) + 1;
  TileKernel<Exec, Case, L> const kernel{tested, to_device<Exec>(in),
                                         DeviceView<Exec, T>("seen", league * threads * each), n};
  Kokkos::TeamPolicy<Exec> policy(league, threads, lane::vector_length<Exec>(L::width));
  auto const bytes = ScratchView<Exec, T>::shmem_size(tested.scratch_values(n, threads));
  Kokkos::parallel_for("team_collective", policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes))), kernel);
  auto const seen = to_host(kernel.seen);
  for (int rank = 0; rank < league; ++rank) {
    auto const expected = tested.expected({in.begin() + rank * n, in.begin() + (rank + 1) * n});
    for (int thread = 0; thread < threads; ++thread) {
      auto const own = seen.begin() + static_cast<std::ptrdiff_t>((rank * threads + thread) * each);
      if (auto const problem = difference(std::vector<T>(own, own + static_cast<std::ptrdiff_t>(each)), expected)) {
        return tested.name() + " on " + std::string(space_name<Exec>()) + ", n = " + std::to_string(n) + ", " +
               std::to_string(threads) + " threads, " + std::to_string(L::width) + " lanes, team " +
               std::to_string(rank) + ": " + *problem + " in the eyes of thread " + std::to_string(thread);
      }
    }
  }
  return std::nullopt;
}

// Numbers of threads per team with W lanes each that the space supports. Hosts use few, because a barrier of more
// threads than cores takes long; the adversarial orders test hosts.
template <class Exec>
[[nodiscard]] std::vector<int> team_sizes(int width) {
  std::vector<int> result;
  int const most = is_gpu<Exec> ? 512 / width : Exec().concurrency();
  for (int const threads : {1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 64, 100, 256}) {
    if (threads <= most) result.push_back(threads);
  }
  return result;
}

template <int W, class Case>
void expect_right_on_all_spaces(Case const& tested) {
  for_each_type(EnabledSpaces{}, [&]<class Exec>() {
    for (int const threads : team_sizes<Exec>(W)) {
      for (int const n : {1, 2, 7, 33, 64, 100, 257}) {
        if (!is_gpu<Exec> && threads > 1 && n > 100) continue;
        ASSERT_EQ((run_on_space<Exec, Case, lane::On<Exec, W>>(tested, n, threads)), std::nullopt);
      }
    }
  });
}

TEST(TeamCollectives, TreeReduceOnAllSpaces) { expect_right_on_all_spaces<1>(TreeReduceCase<Multiply>{}); }
TEST(TeamCollectives, FoldHalvesOnAllSpaces) { expect_right_on_all_spaces<1>(FoldHalvesCase<WrappingSum>{}); }
TEST(TeamCollectives, FoldPairsOnAllSpaces) { expect_right_on_all_spaces<1>(FoldPairsCase<Multiply>{}); }
TEST(TeamCollectives, HillisSteeleInPlaceOnAllSpaces) {
  expect_right_on_all_spaces<1>(HillisSteeleInPlaceCase<Compose<std::uint32_t>, 1>{});
  expect_right_on_all_spaces<1>(HillisSteeleInPlaceCase<Compose<std::uint32_t>, 16>{});
}
TEST(TeamCollectives, HillisSteeleOnAllSpaces) {
  expect_right_on_all_spaces<1>(HillisSteeleCase<Compose<std::uint32_t>>{});
}
TEST(TeamCollectives, BlellochPaddedOnAllSpaces) {
  expect_right_on_all_spaces<1>(BlellochPaddedCase<Compose<std::uint32_t>, 4>{});
}
TEST(TeamCollectives, BlellochOnAllSpaces) { expect_right_on_all_spaces<1>(BlellochCase<Compose<std::uint32_t>>{}); }
TEST(TeamCollectives, RunScanOnAllSpaces) {
  for (int const length : {1, 3, 8}) expect_right_on_all_spaces<1>(RunScanCase<Compose<std::uint32_t>>{length});
}
TEST(TeamCollectives, LaneScanOnAllSpaces) {
  expect_right_on_all_spaces<1>(LaneScanCase<Compose<std::uint32_t>>{});
  expect_right_on_all_spaces<4>(LaneScanCase<Compose<std::uint32_t>>{});
  expect_right_on_all_spaces<8>(LaneScanCase<Compose<std::uint16_t>>{});
  expect_right_on_all_spaces<32>(LaneScanCase<Multiply>{});
}

template <class Exec, class Op, class L>
struct ScanThreadsKernel {
  using T = typename Op::Value;

  DeviceView<Exec, T> in;    // [3, threads]
  DeviceView<Exec, T> seen;  // [league, 3, threads, W, 2]

  KOKKOS_FUNCTION void operator()(typename Kokkos::TeamPolicy<Exec>::member_type const& team) const {
    ScratchView<Exec, T> const scratch(team.team_scratch(0), 2 * team.team_size());
    scan_threads_rounds<Op>(
        team, L{}, in.data(), scratch.data(),
        seen.data() + static_cast<std::size_t>(team.league_rank()) * 6 * team.team_size() * L::width);
    team.team_barrier();
  }
};

template <int W, class Op>
void expect_scan_threads_on_all_spaces() {
  using T = typename Op::Value;
  for_each_type(EnabledSpaces{}, [&]<class Exec>() {
    using L = lane::On<Exec, W>;
    for (int const threads : team_sizes<Exec>(W)) {
      auto const in = samples<Op>(3 * static_cast<std::size_t>(threads), 9);
      auto const expected = scan_threads_expected<Op>(in, threads, W);
      ScanThreadsKernel<Exec, Op, L> const kernel{to_device<Exec>(in),
                                                  DeviceView<Exec, T>("seen", league * expected.size())};
      Kokkos::TeamPolicy<Exec> policy(league, threads, lane::vector_length<Exec>(W));
      auto const bytes = ScratchView<Exec, T>::shmem_size(2 * threads);
      Kokkos::parallel_for("scan_threads", policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes))),
                           kernel);
      auto const seen = to_host(kernel.seen);
      for (std::size_t rank = 0; rank < league; ++rank) {
        auto const own = seen.begin() + static_cast<std::ptrdiff_t>(rank * expected.size());
        ASSERT_EQ(difference(std::vector<T>(own, own + static_cast<std::ptrdiff_t>(expected.size())), expected),
                  std::nullopt)
            << space_name<Exec>() << ", " << W << " lanes, " << threads << " threads, team " << rank;
      }
    }
  });
}

TEST(TeamCollectives, ScanThreadsOnAllSpaces) {
  expect_scan_threads_on_all_spaces<1, Compose<std::uint32_t>>();
  expect_scan_threads_on_all_spaces<2, Compose<std::uint16_t>>();
  expect_scan_threads_on_all_spaces<8, Multiply>();
  expect_scan_threads_on_all_spaces<32, SegmentedSum>();
}

template <class Exec>
struct NormalisedRowKernel {
  DeviceView<Exec, float> in;
  DeviceView<Exec, float> seen;  // [threads, 3]

  KOKKOS_FUNCTION void operator()(typename Kokkos::TeamPolicy<Exec>::member_type const& team) const {
    auto const row = Kokkos::TeamVectorRange(team, in.extent(0));
    auto const result = team::normalised_row<float>(row, [&](std::size_t h) { return in(h); }, in.extent(0), 0.0F);
    seen(3 * team.team_rank()) = result.shift;
    seen(3 * team.team_rank() + 1) = result.mean;
    seen(3 * team.team_rank() + 2) = result.inv_std;
  }
};

// The squares of the second row leave the range of float.
TEST(TeamCollectives, NormalisedRowOnAllSpaces) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    for (int const threads : team_sizes<Exec>(1)) {
      for (float const factor : {1.0F, 1e30F}) {
        NormalisedRowKernel<Exec> const kernel{to_device<Exec>(std::vector<float>{factor, 3 * factor}),
                                               DeviceView<Exec, float>("seen", 3 * threads)};
        Kokkos::parallel_for("normalised_row", Kokkos::TeamPolicy<Exec>(1, threads), kernel);
        auto const seen = to_host(kernel.seen);
        for (std::size_t i = 0; i < seen.size(); ++i) {
          EXPECT_FLOAT_EQ(seen[i], i % 3 == 2 ? 1 / factor : factor)
              << space_name<Exec>() << ", " << threads << " threads, value " << i;
        }
      }
    }
  });
}

}  // namespace
}  // namespace tessera::test
