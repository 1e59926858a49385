// Ranking a team's items by a digit: lanes that match, any order of the threads, all spaces.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/team/digit_rank.hpp>
#include <tessera/collective/thread/match_digit.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>

#include "adversarial_team.hpp"
#include "guarded_array.hpp"
#include "lane_checks.hpp"

namespace tessera::test {
namespace {

// ---- Lanes that match.

struct MatchesPeers {
  [[nodiscard]] KOKKOS_FUNCTION static std::uint32_t digit_of(std::uint64_t seed, int lane) {
    auto const own = static_cast<std::uint64_t>(lane);
    return static_cast<std::uint32_t>((own * own + 3 * own * seed) % 7);
  }
  template <lane::Lanes L>
  KOKKOS_FUNCTION void operator()(LaneChecker<L>& checker, std::uint64_t seed) const {
    using Mask = thread::LaneMask<L::width>;
    L const& lanes = checker.lanes();
    auto digit = lanes.template fill<std::uint32_t>(0);
    lanes.each([&](int lane, std::uint32_t& own) { own = digit_of(seed, lane); }, digit);
    auto const peers = thread::match_digit<3>(lanes, digit);
    checker.template holds<Mask>(peers, [=](int lane) {
      Mask expected = 0;
      for (int other = 0; other < L::width; ++other) {
        if (digit_of(seed, other) == digit_of(seed, lane)) expected |= Mask{1} << other;
      }
      return expected;
    });
  }
};

TEST(MatchDigit, FindsThePeersOfEachLane) {
  for_each_width([]<int W>() { EXPECT_EQ(check_everywhere<W>(MatchesPeers{}), std::nullopt); });
}

// ---- Ranks.

// The numbers that each kind of data has in place of digits; below 2^bits.
[[nodiscard]] std::vector<std::uint32_t> digits_of(int kind, int n, int bits) {
  std::vector<std::uint32_t> digits(static_cast<std::size_t>(n));
  std::uint32_t const last = (1U << bits) - 1;
  for (int i = 0; i < n; ++i) {
    auto const k = static_cast<std::uint32_t>(i);
    std::uint32_t const of_kind[] = {k * 2654435761U >> 7,
                                     0,
                                     last,
                                     k % 3,
                                     k * last / static_cast<std::uint32_t>(n),
                                     static_cast<std::uint32_t>(n) - k,
                                     k % 7 == 6 ? k : 1};  // a thread's first row is often equal
    digits[static_cast<std::size_t>(i)] = of_kind[kind] & last;
  }
  return digits;
}
constexpr int kinds = 7;

// What a team finds: a place per item, and the count and begin of each bin.
struct Ranked {
  std::vector<std::uint32_t> places;
  std::vector<std::uint32_t> counts;
  std::vector<std::uint32_t> begins;
  bool operator==(Ranked const&) const = default;
};
[[nodiscard]] Ranked ranked(std::vector<std::uint32_t> const& digits, int bits) {
  std::vector<std::uint32_t> order(digits.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return digits[a] < digits[b]; });
  Ranked result{std::vector<std::uint32_t>(digits.size()), std::vector<std::uint32_t>(std::size_t{1} << bits),
                std::vector<std::uint32_t>(std::size_t{1} << bits)};
  for (std::uint32_t place = 0; place < order.size(); ++place) result.places[order[place]] = place;
  for (auto const digit : digits) ++result.counts[digit];
  std::exclusive_scan(result.counts.begin(), result.counts.end(), result.begins.begin(), 0U);
  return result;
}

// Two calls in the same scratch, as in a loop over digits: the second on the same items.
template <int Bits, int N, int Threads = 0, class M, class L>
KOKKOS_FUNCTION void rank_twice(M const& team, L const& lanes, std::uint32_t const* digits, std::uint32_t* scratch,
                                std::uint32_t* places, std::uint32_t* counts, std::uint32_t* begins) {
  using Scratch = team::DigitScratch<Bits>;
  int const own = team.team_rank() * N * L::width;
  Scratch const memory{scratch, scratch + Scratch::counters_for(team.team_size())};
  for (int call = 0; call < 2; ++call) {
    auto found = lanes.template fill<team::LaneItems<std::uint32_t, N>>({});
    lanes.each(
        [&](int lane, auto& of_lane) {
          for (int row = 0; row < N; ++row) of_lane.at[row] = digits[own + row * L::width + lane];
        },
        found);
    team::rank_by_digit<Bits, N, Threads>(
        team, lanes, found, memory, [&](int bin, std::uint32_t count) { counts[bin] += count; },
        [&](int bin, std::uint32_t begin) { begins[bin] += begin; });
    lanes.each(
        [&](int lane, auto const& of_lane) {
          for (int row = 0; row < N; ++row) places[own + row * L::width + lane] += of_lane.at[row];
        },
        found);
    team.team_barrier();
  }
}

[[nodiscard]] Ranked half(Ranked twice) {
  for (auto* numbers : {&twice.places, &twice.counts, &twice.begins}) {
    for (auto& number : *numbers) number = number % 2 == 0 ? number / 2 : 0xffffffffU;
  }
  return twice;
}

// Threads: 0, or the only size of the team, known at compile time.
template <int Bits, int N, int W, int Threads = 0>
void expect_ranked_in_any_order() {
  using Scratch = team::DigitScratch<Bits>;
  for (int const threads : {1, 2, 3, 5, 8}) {
    if (Threads != 0 && threads != Threads) continue;
    AdversarialTeam team(threads);
    int const n = threads * N * W;
    auto const numbers = static_cast<std::size_t>(Scratch::counters_for(threads) + Scratch::sums_for(threads));
    GuardedArray<std::uint32_t> memory(numbers);
    for (int kind = 0; kind < kinds; ++kind) {
      auto const digits = digits_of(kind, n, Bits);
      Ranked const expected = ranked(digits, Bits);
      for (Order const order : all_orders) {
        std::uint32_t* const scratch = memory.last(numbers);
        Ranked found{std::vector<std::uint32_t>(digits.size()), std::vector<std::uint32_t>(Scratch::bins),
                     std::vector<std::uint32_t>(Scratch::bins)};
        ASSERT_EQ(team.run(order, 1,
                           [&](AdversarialTeam::Member const& member) {
                             rank_twice<Bits, N, Threads>(member, lane::Emulated<W>{}, digits.data(), scratch,
                                                          found.places.data(), found.counts.data(),
                                                          found.begins.data());
                           }),
                  std::nullopt);
        ASSERT_TRUE(half(found) == expected) << Bits << " bits, " << N << " rows, " << W << " lanes, " << threads
                                             << " threads, data " << kind << ", " << name_of(order);
        ASSERT_TRUE(memory.untouched());
      }
    }
  }
}

TEST(DigitRank, InAnyOrder) {
  expect_ranked_in_any_order<1, 1, 1>();
  expect_ranked_in_any_order<2, 3, 1>();
  expect_ranked_in_any_order<3, 2, 4>();
  expect_ranked_in_any_order<4, 5, 8>();  // fewer lanes than bins: several rounds of the scan
  expect_ranked_in_any_order<8, 2, 32>();
  expect_ranked_in_any_order<8, 1, 2>();
  expect_ranked_in_any_order<5, 3, 64>();
  expect_ranked_in_any_order<3, 2, 4, 5>();
  expect_ranked_in_any_order<8, 1, 2, 3>();
}

TEST(DigitRank, DocumentedExample) {
  std::vector<std::uint32_t> const digits{3, 1, 3, 0, 1, 1, 0, 3};
  Ranked const expected = ranked(digits, 2);
  EXPECT_EQ(expected.counts, (std::vector<std::uint32_t>{2, 3, 0, 3}));
  EXPECT_EQ(expected.begins, (std::vector<std::uint32_t>{0, 2, 5, 5}));
  EXPECT_EQ(expected.places, (std::vector<std::uint32_t>{5, 2, 6, 0, 3, 4, 1, 7}));
  AdversarialTeam team(1);
  Ranked found{std::vector<std::uint32_t>(8), std::vector<std::uint32_t>(4), std::vector<std::uint32_t>(4)};
  std::vector<std::uint32_t> scratch(4 + 2);
  EXPECT_EQ(team.run(Order::ascending, 1,
                     [&](AdversarialTeam::Member const& member) {
                       rank_twice<2, 2>(member, lane::Emulated<4>{}, digits.data(), scratch.data(), found.places.data(),
                                        found.counts.data(), found.begins.data());
                     }),
            std::nullopt);
  EXPECT_TRUE(half(found) == expected);
}

// ---- In kernels.

template <class Exec, int Bits, int N, int W>
struct RankKernel {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Numbers = Kokkos::View<std::uint32_t*, typename Exec::memory_space>;
  using Scratch = ScratchView<std::uint32_t*, Exec>;

  Numbers digits;
  Numbers places;
  Numbers counts;
  Numbers begins;

  [[nodiscard]] KOKKOS_FUNCTION static int numbers(int threads) {
    return team::DigitScratch<Bits>::counters_for(threads) + team::DigitScratch<Bits>::sums_for(threads);
  }
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), numbers(team.team_size()));
    int const items = team.team_size() * N * W;
    int const bins = 1 << Bits;
    rank_twice<Bits, N>(team, lane::On<Exec, W>{}, digits.data() + team.league_rank() * items, scratch.data(),
                        places.data() + team.league_rank() * items, counts.data() + team.league_rank() * bins,
                        begins.data() + team.league_rank() * bins);
    leave_scratch(team);
  }
};

template <class Exec, int Bits, int N, int W>
void expect_ranked_on_space(int threads) {
  using Kernel = RankKernel<Exec, Bits, N, W>;
  using Numbers = typename Kernel::Numbers;
  int const items = threads * N * W;
  int const bins = 1 << Bits;
  Numbers const digits("digits", kinds * items);
  auto const from = Kokkos::create_mirror_view(digits);
  for (int kind = 0; kind < kinds; ++kind) {
    auto const of_kind = digits_of(kind, items, Bits);
    std::copy(of_kind.begin(), of_kind.end(), from.data() + kind * items);
  }
  Kokkos::deep_copy(digits, from);
  Kernel const kernel{digits, Numbers("places", kinds * items), Numbers("counts", kinds * bins),
                      Numbers("begins", kinds * bins)};
  Kokkos::TeamPolicy<Exec> const policy(kinds, threads, lane::vector_length<Exec>(W));
  Kokkos::parallel_for(
      "rank", with_scratch(policy, Kernel::Scratch::shmem_size(static_cast<std::size_t>(Kernel::numbers(threads)))),
      kernel);
  auto const places = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, kernel.places);
  auto const counts = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, kernel.counts);
  auto const begins = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, kernel.begins);
  auto const part = [](auto const& view, int size, int kind) {
    return std::vector<std::uint32_t>(view.data() + kind * size, view.data() + (kind + 1) * size);
  };
  for (int kind = 0; kind < kinds; ++kind) {
    Ranked const found = half({part(places, items, kind), part(counts, bins, kind), part(begins, bins, kind)});
    EXPECT_TRUE(found == ranked(digits_of(kind, items, Bits), Bits))
        << space_name<Exec>() << ", " << threads << " threads, data " << kind;
  }
}

TEST(DigitRank, OnAllSpaces) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    int const most = is_gpu<Exec> ? 12 : std::min(4, Exec().concurrency());
    for (int const threads : {1, 2, 3, 4, 12}) {
      if (threads > most) continue;
      expect_ranked_on_space<Exec, 8, 5, 32>(threads);
      expect_ranked_on_space<Exec, 4, 3, 8>(threads);
    }
  });
}

}  // namespace
}  // namespace tessera::test
