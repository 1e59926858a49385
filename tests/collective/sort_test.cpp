// Sorts and merges of a lane, of a thread's lanes and of a team, with threads in the worst order. Items are pairs that
// are compared by their keys, so that a sort that is not stable shows.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <Kokkos_NestedSort.hpp>

#include <tessera/collective/merge_path.hpp>
#include <tessera/collective/sort_items.hpp>
#include <tessera/collective/team/bitonic_sort.hpp>
#include <tessera/collective/team/merge_sort.hpp>
#include <tessera/collective/thread/bitonic_sort.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>

#include "adversarial_team.hpp"
#include "guarded_array.hpp"
#include "lane_checks.hpp"
#include "operators_for_tests.hpp"

namespace tessera::test {
namespace {

struct Pair {
  std::uint32_t key;
  std::uint32_t place;
  friend bool operator==(Pair const&, Pair const&) = default;
};

struct ByKey {
  KOKKOS_FUNCTION bool operator()(Pair const& a, Pair const& b) const { return a.key < b.key; }
};
struct Less {
  KOKKOS_FUNCTION bool operator()(std::uint32_t a, std::uint32_t b) const { return a < b; }
};

// Keys of `kinds` different values.
std::vector<Pair> pairs(std::size_t n, std::uint64_t seed, std::uint64_t kinds) {
  std::vector<Pair> result;
  for (std::size_t i = 0; i < n; ++i) {
    result.push_back({static_cast<std::uint32_t>(random_bits(seed * 1000 + i) % kinds), static_cast<std::uint32_t>(i)});
  }
  return result;
}

std::vector<Pair> sorted(std::vector<Pair> items) {
  std::stable_sort(items.begin(), items.end(), ByKey{});
  return items;
}

TEST(MergePath, DividesEveryMergeAtEveryPlace) {
  for (std::size_t n1 = 0; n1 <= 9; ++n1) {
    for (std::size_t n2 = 0; n2 <= 9; ++n2) {
      for (std::uint64_t const kinds : {1, 3, 100}) {
        std::vector<Pair> first = sorted(pairs(n1, n1, kinds));
        std::vector<Pair> second = sorted(pairs(n2, n2 + 50, kinds));
        for (Pair& item : second) item.place += 100;
        std::vector<Pair> expected;
        std::merge(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(expected), ByKey{});
        auto const of_first = [&](std::size_t i) { return first.at(i); };
        auto const of_second = [&](std::size_t i) { return second.at(i); };
        for (std::size_t begin = 0; begin <= n1 + n2; ++begin) {
          auto const from_first = static_cast<std::size_t>(
              std::count_if(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(begin),
                            [](Pair const& item) { return item.place < 100; }));
          EXPECT_EQ(collective::merge_path(of_first, n1, of_second, n2, begin, ByKey{}), from_first);
          std::vector<Pair> found(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(begin));
          collective::merge_items(of_first, n1, of_second, n2, begin, n1 + n2, ByKey{},
                                  [&](std::size_t i, Pair const& item) {
                                    EXPECT_EQ(i, found.size());
                                    found.push_back(item);
                                  });
          EXPECT_EQ(found, expected);
        }
      }
    }
  }
}

TEST(MergePath, DocumentedExample) {
  std::uint32_t const first[] = {1, 3, 5, 7};
  std::uint32_t const second[] = {2, 3, 4};
  auto const of = [](std::uint32_t const* run) { return [run](int i) { return run[i]; }; };
  EXPECT_EQ(collective::merge_path(of(first), 4, of(second), 3, 4, Less{}), 2);
  EXPECT_EQ(collective::merge_path(of(first), 4, of(second), 3, 6, Less{}), 3);
}

// All arrangements of zeros and ones: a network that sorts these sorts everything (the zero-one principle).
template <int N>
void expect_network_sorts() {
  for (std::uint32_t bits = 0; bits < (1U << N); ++bits) {
    for (int count = 0; count <= N; ++count) {
      std::uint32_t item[N];
      Pair pair[N];
      for (int i = 0; i < N; ++i) {
        item[i] = bits >> i & 1;
        pair[i] = {item[i], static_cast<std::uint32_t>(i)};
      }
      std::vector<Pair> expected(pair, pair + N);
      std::stable_sort(expected.begin(), expected.begin() + count, ByKey{});
      collective::stable_sort_items(pair, count, ByKey{});
      EXPECT_EQ(std::vector<Pair>(pair, pair + N), expected) << N << " items, " << count << " count";
      if constexpr ((N & (N - 1)) == 0) {
        collective::bitonic_sort_items(item, Less{});
        EXPECT_TRUE(std::is_sorted(item, item + N)) << N << " items";
        EXPECT_EQ(std::count(item, item + N, 1U), std::popcount(bits));
        for (int i = 0; i < N; ++i) item[i] = bits >> i & 1;
        collective::merge_sort_items(item, Less{});
        EXPECT_TRUE(std::is_sorted(item, item + N)) << N << " items";
        EXPECT_EQ(std::count(item, item + N, 1U), std::popcount(bits));
      }
    }
  }
}
TEST(SortItems, ZeroesAndOnes) {
  expect_network_sorts<1>();
  expect_network_sorts<2>();
  expect_network_sorts<3>();
  expect_network_sorts<4>();
  expect_network_sorts<5>();
  expect_network_sorts<7>();
  expect_network_sorts<8>();
}

// Item i of those with the keys key(begin) ... key(end - 1), sorted, by counting.
template <class Key>
[[nodiscard]] KOKKOS_FUNCTION std::uint32_t sorted_item(Key const& key, int begin, int end, int i) {
  for (int candidate = begin; candidate < end; ++candidate) {
    int before = begin;
    int equal = 0;
    for (int k = begin; k < end; ++k) {
      before += key(k) < key(candidate) ? 1 : 0;
      equal += key(k) == key(candidate) ? 1 : 0;
    }
    if (before <= i && i < before + equal) return key(candidate);
  }
  return 0xffff'ffffU;
}

// Checks that sort(item) makes expected(i) of the items key(i), of which a lane has N in sequence.
template <int N, class L, class Key, class Sort, class Expected>
KOKKOS_FUNCTION void check_sort(LaneChecker<L>& checker, Key const& key, Sort const& sort, Expected const& expected) {
  typename L::template Value<std::uint32_t> item[N];
  for (int k = 0; k < N; ++k) {
    item[k] = checker.lanes().template fill<std::uint32_t>(0);
    checker.lanes().each([&](int lane, std::uint32_t& own) { own = key(lane * N + k); }, item[k]);
  }
  sort(item);
  for (int k = 0; k < N; ++k) {
    checker.template holds<std::uint32_t>(item[k], [&](int lane) { return expected(lane * N + k); });
  }
}

template <int N>
struct SortOfLanes {
  template <class L>
  KOKKOS_FUNCTION void operator()(LaneChecker<L>& checker, std::uint64_t seed) const {
    for (std::uint32_t const kinds : {2U, 7U, 1000U}) {
      auto const key = [&](int i) { return static_cast<std::uint32_t>(random_bits(seed * 1000 + i) % kinds); };
      check_sort<N>(
          checker, key, [&](auto& item) { thread::bitonic_sort<N, L, std::uint32_t>(checker.lanes(), item, Less{}); },
          [&](int i) { return sorted_item(key, 0, N * L::width, i); });
    }
  }
};

template <int N>
struct SortOfGroups {
  template <class L>
  KOKKOS_FUNCTION void operator()(LaneChecker<L>& checker, std::uint64_t seed) const {
    auto const key = [&](int i) { return static_cast<std::uint32_t>(random_bits(seed * 1000 + i) % 7); };
    for (int largest = 1; largest <= L::width; largest *= 2) {
      // One group of `largest` lanes, then as many lanes as two groups, four, ... of half, a quarter, ... of them.
      auto const group_of = [&](int lane) { return Kokkos::max(1, largest >> Kokkos::min(lane / largest, 31)); };
      auto group = checker.lanes().template fill<int>(1);
      checker.lanes().each([&](int lane, int& own) { own = group_of(lane); }, group);
      check_sort<N>(
          checker, key,
          [&](auto& item) { thread::bitonic_sort_groups<N, L, std::uint32_t>(checker.lanes(), item, group, Less{}); },
          [&](int i) {
            int const items = group_of(i / N) * N;
            int const begin = i / items * items;
            return sorted_item(key, begin, begin + items, i);
          });
    }
  }
};

template <template <int> class Case, int Most>
void expect_sorted_everywhere() {
  for_each_width([]<int W>() {
    EXPECT_EQ(check_everywhere<W>(Case<1>{}), std::nullopt);
    if constexpr (W <= 32) {
      EXPECT_EQ(check_everywhere<W>(Case<2>{}), std::nullopt);
    }
    if constexpr (W <= 16) {
      EXPECT_EQ(check_everywhere<W>(Case<Most>{}), std::nullopt);
    }
  });
}
TEST(ThreadBitonicSort, SortsTheItemsOfAllLanes) { expect_sorted_everywhere<SortOfLanes, 4>(); }
TEST(ThreadBitonicSort, SortsTheItemsOfGroupsOfLanes) { expect_sorted_everywhere<SortOfGroups, 8>(); }

using Items = Kokkos::View<Pair*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
constexpr int sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 255, 256, 257};

// Calls `sort(member, items, other, n)`, which returns the View with the result, for sizes, teams and orders. The Views
// end at guard pages.
template <class Sort>
void expect_sorts_in_any_order(bool is_stable, Sort const& sort) {
  GuardedArray<Pair> memory(300);
  GuardedArray<Pair> other(300);
  std::uint64_t seed = 0;
  for (int const threads : {1, 2, 3, 5, 8}) {
    AdversarialTeam team(threads);
    for (int const n : sizes) {
      for (Order const order : all_orders) {
        for (std::uint64_t const kinds : {3, 1000}) {
          auto const size = static_cast<std::size_t>(n);
          std::vector<Pair> const in = pairs(size, ++seed, kinds);
          Items const from(memory.last(size), size);
          Items const to(other.last(size), size);
          std::vector<std::vector<Pair>> seen(static_cast<std::size_t>(threads));
          auto const problem = team.run(order, seed, [&](AdversarialTeam::Member const& member) {
            // Each thread fills some items, and sees all of the result.
            for (int i = member.team_rank(); i < n; i += threads) from(i) = in[static_cast<std::size_t>(i)];
            Items const result = sort(member, from, to, n);
            seen[static_cast<std::size_t>(member.team_rank())].assign(result.data(), result.data() + n);
          });
          ASSERT_EQ(problem, std::nullopt);
          EXPECT_TRUE(memory.untouched() && other.untouched());
          for (std::vector<Pair>& own : seen) {
            std::vector<Pair> expected = sorted(in);
            if (!is_stable) {  // equal keys in any order
              auto const by_both = [](Pair const& a, Pair const& b) {
                return a.key < b.key || (a.key == b.key && a.place < b.place);
              };
              EXPECT_TRUE(std::is_sorted(own.begin(), own.end(), ByKey{}));
              std::sort(own.begin(), own.end(), by_both);
            }
            ASSERT_EQ(own, expected) << n << " items, " << threads << " threads, " << name_of(order) << " order";
          }
        }
      }
    }
  }
}

TEST(TeamBitonicSort, InAnyOrder) {
  expect_sorts_in_any_order(false, [](auto const& team, Items const& items, Items const&, int n) {
    team::bitonic_sort(team, items, n, ByKey{});
    return items;
  });
}

TEST(TeamMergeSort, InAnyOrder) {
  expect_sorts_in_any_order(true, [](auto const& team, Items const& from, Items const& to, int n) {
    return team::merge_sort<1>(team, from, to, n, ByKey{});
  });
  expect_sorts_in_any_order(true, [](auto const& team, Items const& from, Items const& to, int n) {
    return team::merge_sort<7>(team, from, to, n, ByKey{});
  });
}

TEST(TeamMergeSort, DocumentedExamples) {
  AdversarialTeam team(2);
  Pair in[] = {{4, 0}, {1, 1}, {3, 2}, {2, 3}, {6, 4}, {5, 5}, {0, 6}};
  Pair out[7];
  EXPECT_EQ(team.run(Order::ascending, 1,
                     [&](AdversarialTeam::Member const& member) {
                       Items const result = team::merge_sort<2>(member, Items(in, 7), Items(out, 7), 7, ByKey{});
                       for (std::uint32_t i = 0; i < 7; ++i) EXPECT_EQ(result(i).key, i);
                     }),
            std::nullopt);
  Pair runs[] = {{1, 0}, {4, 1}, {2, 2}, {3, 3}, {5, 4}, {6, 5}, {0, 6}};
  EXPECT_EQ(team.run(Order::ascending, 1,
                     [&](AdversarialTeam::Member const& member) {
                       team::merge_runs<2>(member, Items(runs, 7), Items(out, 7), 7, 2, ByKey{});
                     }),
            std::nullopt);
  std::uint32_t const expected[] = {1, 2, 3, 4, 0, 5, 6};
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(out[i].key, expected[i]);
}

// ---- Speed beside Kokkos' sort of a team

using Key = std::uint32_t;

struct ByKokkos {
  template <class Member, class Tile>
  KOKKOS_FUNCTION Tile operator()(Member const& team, Tile const& a, Tile const&, int) const {
    team.team_barrier();
    Kokkos::Experimental::sort_team(team, a, Less{});
    return a;
  }
};
struct ByNetwork {
  template <class Member, class Tile>
  KOKKOS_FUNCTION Tile operator()(Member const& team, Tile const& a, Tile const&, int n) const {
    team::bitonic_sort(team, a, n, Less{});
    return a;
  }
};
struct ByMerging {
  template <class Member, class Tile>
  KOKKOS_FUNCTION Tile operator()(Member const& team, Tile const& a, Tile const& b, int n) const {
    return team::merge_sort<8>(team, a, b, n, Less{});
  }
};

template <class Exec, class Sort>
struct SortTiles {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Tile = ScratchView<Key*, Exec>;
  Sort sort;
  Kokkos::View<Key const*, Exec> from;
  Kokkos::View<Key*, Exec> to;
  int tile;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Tile const a(team.team_scratch(0), tile);
    Tile const b(team.team_scratch(0), tile);
    int const begin = team.league_rank() * tile;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile), [&](int i) { a(i) = from(begin + i); });
    Tile const sorted = sort(team, a, b, tile);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile), [&](int i) { to(begin + i) = sorted(i); });
    leave_scratch(team);
  }
};

// Returns the seconds of a launch, and expects its tiles to be sorted.
template <class Exec, class Sort>
double seconds_of(Sort const& sort, int tile, int tiles) {
  auto const n = static_cast<std::size_t>(tile) * static_cast<std::size_t>(tiles);
  Kokkos::View<Key*, Kokkos::HostSpace> const keys("keys", n);
  for (std::size_t i = 0; i < n; ++i) keys(i) = static_cast<Key>(random_bits(i));
  auto const from = Kokkos::create_mirror_view_and_copy(typename Exec::memory_space(), keys);
  SortTiles<Exec, Sort> const kernel{sort, from, Kokkos::View<Key*, Exec>("sorted", n), tile};
  Exec const exec;
  int const threads = is_gpu<Exec> ? 256 : 1;
  auto const policy = with_scratch(Kokkos::TeamPolicy<Exec>(exec, tiles, threads),
                                   2 * SortTiles<Exec, Sort>::Tile::shmem_size(static_cast<std::size_t>(tile)));
  double best = std::numeric_limits<double>::infinity();
  for (int sample = 0; sample < 6; ++sample) {
    Kokkos::Timer const timer;
    Kokkos::parallel_for("sort_tiles", policy, kernel);
    exec.fence();
    best = std::min(best, timer.seconds());
  }
  auto const sorted = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), kernel.to);
  for (int t = 0; t < tiles; ++t) {
    EXPECT_TRUE(std::is_sorted(sorted.data() + t * tile, sorted.data() + (t + 1) * tile)) << "tile " << t;
  }
  return best;
}

TEST(TeamSorts, BesideKokkos) {
  int const tiles = std::getenv("TESSERA_TEST_SPEED") != nullptr ? 4096 : 3;
  for_each_type(EnabledSpaces{}, [&]<class Exec>() {
    for (int const tile : {256, 1000, 1024, 2048}) {
      double const of_kokkos = seconds_of<Exec>(ByKokkos{}, tile, tiles);
      double const of_network = seconds_of<Exec>(ByNetwork{}, tile, tiles);
      double const of_merges = seconds_of<Exec>(ByMerging{}, tile, tiles);
      if (tiles < 100) continue;
      std::printf("%s, %d tiles of %d keys: sort_team %.3g ms; speedup of bitonic_sort %.2f, of merge_sort %.2f\n",
                  std::string(space_name<Exec>()).c_str(), tiles, tile, 1e3 * of_kokkos, of_kokkos / of_network,
                  of_kokkos / of_merges);
    }
  });
}

}  // namespace
}  // namespace tessera::test
