// Scans by key: on every space, with the tiles as shipped and with tiles of a few elements; runs within a tile, across
// many tiles, and of one element. The kernel, also as a reduction by key, with teams in every order of their threads.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

// Must precede the kernels, which call the Kokkos functions that are declared by then.
#include "adversarial_league.hpp"

#include <tessera/collective/operators.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/type_list.hpp>
#include <tessera/kernels/reduce_by_key.hpp>

namespace tessera::test {
namespace {

// Associative, not commutative: the last value that is not 0.
struct LastNonzero {
  [[nodiscard]] KOKKOS_FUNCTION std::int32_t identity() const { return 0; }
  [[nodiscard]] KOKKOS_FUNCTION std::int32_t operator()(std::int32_t a, std::int32_t b) const { return b != 0 ? b : a; }
};

// On a host, threads of 8 emulated lanes with 2 packs each.
template <class Exec>
struct FewElements : kernels::ReduceByKeyTuning<Exec, std::int32_t> {
  static constexpr int lanes = is_gpu<Exec> ? lane::natural_width<Exec> : 8;
  static constexpr int rows = is_gpu<Exec> ? 1 : 2;
};

// Runs of 1 to `longest` elements. The first key is 0, as memory that nobody has set.
[[nodiscard]] std::int32_t key_of(std::size_t i, std::size_t longest) {
  return static_cast<std::int32_t>(i / longest % 5 + (i % longest == 0 ? 0 : 9));
}
[[nodiscard]] std::int32_t value_of(std::size_t i) { return i % 3 == 0 ? 0 : static_cast<std::int32_t>(i % 1009); }

template <class Exec, class Tuning, class Op>
void expect_scanned(std::size_t n, std::size_t longest, std::int64_t team) {
  using Numbers = Kokkos::View<std::int32_t*, typename Exec::memory_space>;
  Op const op;
  Exec const exec;
  Numbers const keys("keys", n);
  Numbers const values("values", n);
  Numbers const all("out", n + 2);  // with an element on each side that must stay
  auto const host_keys = Kokkos::create_mirror_view(keys);
  auto const host_values = Kokkos::create_mirror_view(values);
  std::vector<std::int32_t> expected(n + 2, -7);
  for (std::size_t i = 0; i < n; ++i) {
    host_keys(i) = key_of(i, longest);
    host_values(i) = value_of(i);
    bool const is_head = i == 0 || key_of(i, longest) != key_of(i - 1, longest);
    expected[i + 1] = is_head ? value_of(i) : op(expected[i], value_of(i));
  }
  Kokkos::deep_copy(keys, host_keys);
  Kokkos::deep_copy(values, host_values);
  kernels::ScanByKey<Exec, std::int32_t, Op, std::int32_t, Tuning> scan(exec, n, op, team);
  for (int launch = 0; launch < 2; ++launch) {  // the second one has another epoch
    Kokkos::deep_copy(all, -7);
    scan(exec, keys, values, Kokkos::subview(all, std::pair<std::size_t, std::size_t>(1, n + 1)));
    exec.fence();
    auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), all);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n + 2; ++i) wrong += found(i) == expected[i] ? 0 : 1;
    EXPECT_EQ(wrong, 0U) << n << " elements, runs up to " << longest << ", team " << team << ", launch " << launch;
  }
}

TEST(ScanByKey, RestartsAtEachRun) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    using Shipped = kernels::ReduceByKeyTuning<Exec, std::int32_t>;
    bool const has_teams = is_gpu<Exec> || Exec().concurrency() > 1;
    for (std::size_t const n : {0, 1, 2, 63, 64, 65, 4095, 4097, 100003}) {
      for (std::size_t const longest : {1, 2, 33, 1000, 1000000}) {
        expect_scanned<Exec, Shipped, collective::Sum<std::int32_t>>(n, longest, 0);
        for (std::int64_t const team : {1, 2}) {
          if (team == 2 && !has_teams) continue;
          expect_scanned<Exec, FewElements<Exec>, collective::Sum<std::int32_t>>(n, longest, team);
          expect_scanned<Exec, FewElements<Exec>, LastNonzero>(n, longest, team);
        }
      }
    }
    expect_scanned<Exec, Shipped, collective::Max<std::int32_t>>((std::size_t{1} << 20) + 3, 5000, 0);
  });
}

TEST(ScanByKey, OfASingleCall) {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  Kokkos::View<std::int32_t*, Kokkos::HostSpace> const keys("keys", 6);
  Kokkos::View<double*, Kokkos::HostSpace> const values("values", 6);
  Kokkos::View<double*, Kokkos::HostSpace> const out("out", 6);
  std::int32_t const given[] = {7, 7, 2, 2, 2, 7};
  double const expected[] = {1, 3, 3, 7, 12, 6};
  for (int i = 0; i < 6; ++i) {
    keys(i) = given[i];
    values(i) = i + 1;
  }
  kernels::scan_by_key(Exec(), keys, values, out);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out(i), expected[i]) << i;
  EXPECT_THROW(kernels::scan_by_key(Exec(), keys, values, values), std::invalid_argument);
}

// Keys of every type, narrower and wider than the values. They differ in one bit of either half; float keys also have
// zeros of both signs, which are equal, and NaN, which differs from itself.
template <class Key>
[[nodiscard]] Key key_number(std::size_t run) {
  if constexpr (std::is_floating_point_v<Key>) {
    Key const few[] = {1, Key(0.0), 2, std::numeric_limits<Key>::quiet_NaN(), -std::numeric_limits<Key>::infinity()};
    return few[run % 5];
  } else {
    Key const most = std::numeric_limits<Key>::max();
    Key const few[] = {0, most, static_cast<Key>(most - 1), static_cast<Key>(most - (most / 2 + 1)), Key(1)};
    return few[run % 5];
  }
}

template <class Exec, class Key, class V>
void expect_runs_of(std::size_t n, std::size_t longest) {
  using Memory = typename Exec::memory_space;
  Kokkos::View<Key*, Memory> const keys("keys", n);
  Kokkos::View<V*, Memory> const values("values", n);
  Kokkos::View<Key*, Memory> const unique("unique", n);
  Kokkos::View<V*, Memory> const sums("sums", n);
  Kokkos::View<V*, Memory> const scanned("scanned", n);
  Kokkos::View<std::int32_t*, Memory> const lengths("lengths", n);
  Kokkos::View<std::int64_t, Memory> const count("count");
  auto const host_keys = Kokkos::create_mirror_view(keys);
  auto const host_values = Kokkos::create_mirror_view(values);
  std::vector<Key> of_runs;
  std::vector<V> of_sums;
  std::vector<std::int32_t> of_lengths;
  std::vector<V> so_far;
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t const run = i / longest;
    host_keys(i) = key_number<Key>(run);
    if (host_keys(i) == 0 && i % 2 == 1) host_keys(i) = -host_keys(i);
    host_values(i) = static_cast<V>(i % 7 + 1);
    bool const is_nan = host_keys(i) != host_keys(i);
    if (i % longest == 0 || is_nan) {
      of_runs.push_back(host_keys(i));
      of_sums.push_back(0);
      of_lengths.push_back(0);
    }
    of_sums.back() += host_values(i);
    ++of_lengths.back();
    so_far.push_back(of_sums.back());
  }
  Kokkos::deep_copy(keys, host_keys);
  Kokkos::deep_copy(values, host_values);
  Exec const exec;
  kernels::reduce_by_key(exec, keys, values, unique, sums, count);
  auto const expect_count = [&] {
    std::int64_t runs = 0;
    Kokkos::deep_copy(runs, count);
    ASSERT_EQ(runs, static_cast<std::int64_t>(of_runs.size())) << n << " elements, runs of " << longest;
  };
  expect_count();
  auto const differing = [](auto const& view, auto const& expected) {
    auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // The bits: a run has the key of its first element.
      wrong += std::memcmp(&found(i), &expected[i], sizeof expected[i]) == 0 ? 0 : 1;
    }
    return wrong;
  };
  EXPECT_EQ(differing(unique, of_runs), 0U) << n << ", " << longest;
  EXPECT_EQ(differing(sums, of_sums), 0U) << n << ", " << longest;
  Kokkos::deep_copy(unique, Key(7));
  kernels::run_lengths(exec, keys, unique, lengths, count);
  expect_count();
  EXPECT_EQ(differing(unique, of_runs), 0U) << n << ", " << longest;
  EXPECT_EQ(differing(lengths, of_lengths), 0U) << n << ", " << longest;
  kernels::scan_by_key(exec, keys, values, scanned);
  EXPECT_EQ(differing(scanned, so_far), 0U) << n << ", " << longest;
}

TEST(ReduceByKey, KeysOfEveryType) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    for (std::size_t const n : {1, 65, 10007}) {
      for (std::size_t const longest : {1, 3, 1000}) {
        expect_runs_of<Exec, float, double>(n, longest);
        expect_runs_of<Exec, double, std::int32_t>(n, longest);
        expect_runs_of<Exec, std::int64_t, float>(n, longest);
        expect_runs_of<Exec, std::uint32_t, std::int64_t>(n, longest);
        expect_runs_of<Exec, std::uint64_t, std::int32_t>(n, longest);
      }
    }
  });
}

// ---- The kernel, with teams in every order of their threads, one after another in one scratch.

struct FourLanes {
  static constexpr int lanes = 4;
  static constexpr int pack = 2;
  static constexpr int rows = 2;
  static constexpr bool warps = false;
  static constexpr int stores_in_flight = 2;
  using Bounds = Kokkos::LaunchBounds<>;
};

template <bool scans>
void expect_runs_in_any_order(std::size_t n, std::size_t longest, int threads) {
  using Kernel = kernels::detail::RunsKernel<AdversarialSpace, std::int32_t, std::int32_t, LastNonzero,
                                             kernels::detail::ValuesOfArray<std::int32_t>, FourLanes, scans>;
  using Exec = Kokkos::DefaultHostExecutionSpace;
  std::vector<std::int32_t> keys(n);
  std::vector<std::int32_t> values(n);
  std::vector<std::int32_t> folds;  // so far, of each element
  std::vector<std::int32_t> ends;   // of each run
  std::vector<std::int32_t> keys_of_runs;
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = key_of(i, longest);
    values[i] = value_of(i);
    bool const is_head = i == 0 || keys[i] != keys[i - 1];
    folds.push_back(is_head ? values[i] : LastNonzero{}(folds.back(), values[i]));
    if (is_head) {
      keys_of_runs.push_back(keys[i]);
      ends.push_back(0);
    }
    ends.back() = folds.back();
  }
  std::size_t const tiles = tiles_of(n, static_cast<std::size_t>(threads) * Kernel::part);
  AdversarialTeam team(threads);
  for (Order const order : all_orders) {
    std::vector<std::int32_t> unique_keys(n + 1, -7);
    std::vector<std::int32_t> results(n + 1, -7);
    std::vector<char> scratch(Kernel::scratch_bytes(threads) + 64, static_cast<char>(-1));
    std::int64_t count = -1;
    kernels::LookBackWorkspace<Exec, kernels::RunState<std::int32_t>> look_back("look_back", tiles);
    Kernel const kernel{{{}},
                        keys.data(),
                        {values.data()},
                        unique_keys.data(),
                        results.data(),
                        &count,
                        n,
                        tiles,
                        0,
                        look_back.next_launch(Exec())};
    auto const error = team.run(order, 1, [&](AdversarialTeam::Member const& member) {
      for (std::size_t rank = 0; rank < tiles; ++rank) {
        kernel(LeagueMember(member, static_cast<int>(rank), scratch.data(), static_cast<int>(scratch.size())));
      }
    });
    std::string const about = std::to_string(n) + " elements, runs up to " + std::to_string(longest) + ", " +
                              std::to_string(threads) + " threads, " + name_of(order);
    ASSERT_EQ(error.value_or(""), "") << about;
    std::vector<std::int32_t> expected = scans ? folds : ends;
    expected.resize(n + 1, -7);  // nothing behind the results
    ASSERT_EQ(results, expected) << about;
    if (scans) continue;
    ASSERT_EQ(count, static_cast<std::int64_t>(ends.size())) << about;
    expected = keys_of_runs;
    expected.resize(n + 1, -7);
    ASSERT_EQ(unique_keys, expected) << about;
  }
}

TEST(RunsKernel, InOneScratchInAnyOrder) {
  for (int const threads : {1, 2, 3, 5}) {
    std::size_t const tile = static_cast<std::size_t>(threads) * 16;
    for (std::size_t const longest : {1, 3, 40, 1000000}) {
      for (std::size_t const n : {std::size_t{1}, tile - 1, tile, tile + 1, 5 * tile + 7}) {
        expect_runs_in_any_order<true>(n, longest, threads);
        expect_runs_in_any_order<false>(n, longest, threads);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::test
