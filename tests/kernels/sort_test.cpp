// Sorts and splits: every key type on every space, a GPU's tiles on hosts, kernels in the worst order of threads.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

// Must precede the kernels, which call Kokkos::single with this member by its qualified name.
#include "adversarial_league.hpp"

#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/sort/merge_runs.hpp>
#include <tessera/kernels/merge_sort.hpp>
#include <tessera/kernels/sort.hpp>
#include <tessera/kernels/split.hpp>

#include "guarded_array.hpp"

namespace tessera::test {
namespace {

using kernels::SortOrder;

// ---- Keys, and their order by the definition.

enum class Keys { random, equal, sorted, reversed, few, special };
constexpr Keys all_keys[] = {Keys::random, Keys::equal, Keys::sorted, Keys::reversed, Keys::few, Keys::special};

template <class Key>
[[nodiscard]] std::vector<Key> make_keys(Keys kind, std::size_t n) {
  std::vector<Key> keys(n);
  std::uint64_t state = n + 17;
  for (std::size_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::uint64_t const bits = state ^ (state >> 29);
    auto const place = static_cast<std::int64_t>(i);
    std::int64_t const number = kind == Keys::sorted     ? place
                                : kind == Keys::reversed ? -place
                                : kind == Keys::few      ? static_cast<std::int64_t>(bits >> 40) % 3 - 1
                                                         : 5;
    keys[i] = static_cast<Key>(number);
    if (kind == Keys::random || (kind == Keys::special && std::is_integral_v<Key>)) {
      std::memcpy(&keys[i], &bits, sizeof(Key));  // for floats also NaN of both signs, with any payload
    } else if constexpr (std::is_floating_point_v<Key>) {
      using Limits = std::numeric_limits<Key>;
      Key const special[] = {Key(0),
                             -Key(0),
                             Limits::quiet_NaN(),
                             -Limits::quiet_NaN(),
                             Limits::infinity(),
                             -Limits::infinity(),
                             Limits::denorm_min(),
                             -Limits::denorm_min(),
                             Limits::max(),
                             Limits::lowest()};
      if (kind == Keys::special) keys[i] = special[(bits >> 33) % 10];
    }
  }
  return keys;
}

template <class Key>
struct Precedes {
  SortOrder order;

  bool operator()(Key a, Key b) const {
    if constexpr (std::is_floating_point_v<Key>) {
      if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);  // NaN are equal
      return order.descending ? b < a : a < b;
    } else {
      return order.descending ? bits(b) < bits(a) : bits(a) < bits(b);
    }
  }

 private:
  [[nodiscard]] std::uint64_t bits(Key key) const {
    constexpr int width = 8 * sizeof(Key);
    // The lowest key has word 0.
    std::uint64_t const word =
        static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(std::numeric_limits<Key>::lowest());
    std::uint64_t const high =
        order.end_bit == 0 || order.end_bit == 64 ? word : word % (std::uint64_t{1} << order.end_bit);
    return (width == 32 ? high % (std::uint64_t{1} << 32) : high) >> order.begin_bit;
  }
};

// Which item comes first, second, and so on.
template <class Key>
[[nodiscard]] std::vector<std::size_t> sorted_places(std::vector<Key> const& keys, SortOrder const& order) {
  std::vector<std::size_t> places(keys.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  Precedes<Key> const precedes{order};
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return precedes(keys[a], keys[b]); });
  return places;
}

template <class Key>
[[nodiscard]] bool same_bits(Key a, Key b) {
  return std::memcmp(&a, &b, sizeof(Key)) == 0;
}

template <class Exec, class T>
[[nodiscard]] Kokkos::View<T*, typename Exec::memory_space> on_space(std::vector<T> const& from) {
  Kokkos::View<T*, typename Exec::memory_space> const to("on_space", from.size());
  Kokkos::deep_copy(to, Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(from.data(), from.size()));
  return to;
}
template <class View>
[[nodiscard]] auto on_host(View const& from) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, from);
}

// Three calls of one object: its memory serves all of them.
template <class Exec, class Key, class Value, template <class, class, class, class> class Sort, class Tuning>
void expect_sorted(std::vector<Key> const& keys, SortOrder const& order, std::string const& what) {
  std::size_t const n = keys.size();
  auto const places = sorted_places(keys, order);
  Exec const exec;
  auto const in = on_space<Exec>(keys);
  Kokkos::View<Key*, typename Exec::memory_space> const out("out", n);
  std::string const about = what + " on " + std::string(space_name<Exec>()) + ", n = " + std::to_string(n);
  for (int call = 0; call < 3; ++call) {
    if constexpr (std::is_same_v<Value, kernels::NoValue>) {
      Sort<Exec, Key, Value, Tuning> sort(exec, n, order);
      Kokkos::deep_copy(out, Key(1));
      for (int launch = 0; launch <= call; ++launch) sort(exec, in, out);
      auto const found = on_host(out);
      for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(same_bits(found(i), keys[places[i]])) << about << ", at " << i;
    } else {
      std::vector<Value> indices(n);
      std::iota(indices.begin(), indices.end(), Value(0));
      auto const values = on_space<Exec>(indices);
      Kokkos::View<Value*, typename Exec::memory_space> const sorted_values("values", n);
      Sort<Exec, Key, Value, Tuning> sort(exec, n, order);
      Kokkos::deep_copy(out, Key(1));
      for (int launch = 0; launch <= call; ++launch) sort(exec, in, values, out, sorted_values);
      auto const found = on_host(out);
      auto const moved = on_host(sorted_values);
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(moved(i), static_cast<Value>(places[i])) << about << ", at " << i;
        ASSERT_TRUE(same_bits(found(i), keys[places[i]])) << about << ", at " << i;
      }
    }
  }
}

template <class Exec, class Key, class Value, class Tuning>
using Radix = kernels::RadixSort<Exec, Key, Value, Tuning>;
template <class Exec, class Key, class Value, class Tuning>
using Onesweep = kernels::OnesweepSort<Exec, Key, Value, Tuning>;

// The tuning of the space, but launches of five tiles, and small tiles: many tiles, launches and chunks.
template <class Exec, class T, class Value>
struct ManyTiles : kernels::BinTuning<Exec, T, Value> {
  static constexpr int rows = 2;
  static constexpr int small_rows = 1;
  static constexpr std::size_t launch_tiles = 5;
  static constexpr int host_tile_bytes = 1000;
  static constexpr int small = 200;
};
// A GPU's kernels, on every space.
template <class Exec, class T, class Value>
struct AsOnGpu : kernels::WarpBinTuning<Exec, T, Value> {
  using Bounds = Kokkos::LaunchBounds<>;
  static constexpr int rows = 3;
  static constexpr int small_rows = 2;
  static constexpr int count_copies = is_gpu<Exec>    ? kernels::WarpBinTuning<Exec, T, Value>::count_copies
                                      : sizeof(T) > 4 ? 1
                                                      : 3;  // in 32 KB
  static constexpr std::size_t launch_tiles = 5;
  static constexpr bool has_long = kernels::value_bytes<Value> > 0;
  static constexpr int long_threads = kernels::WarpBinTuning<Exec, T, Value>::threads;
  static constexpr int long_rows = 5;
  static constexpr std::size_t long_tiles = 2;
  using LongBounds = Kokkos::LaunchBounds<>;
  static constexpr bool joins = sizeof(T) == 4 && kernels::value_bytes<Value> == 4;
  template <class Item>
  using OfJoined = AsOnGpu<Exec, Item, kernels::NoValue>;
};

template <class Exec, class Key, class Value, class Tuning>
void expect_both_sorted(std::vector<Key> const& keys, SortOrder const& order) {
  expect_sorted<Exec, Key, Value, Onesweep, Tuning>(keys, order, "onesweep");
  expect_sorted<Exec, Key, Value, Radix, Tuning>(keys, order, "radix");
}

template <class Key, class Value>
void expect_sorted_on_all_spaces() {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    for (Keys const kind : all_keys) {
      for (bool const descending : {false, true}) {
        for (std::size_t const n : {0, 1, 2, 383, 767, 768, 769, 5003}) {
          auto const keys = make_keys<Key>(kind, n);
          expect_both_sorted<Exec, Key, Value, ManyTiles<Exec, Key, Value>>(keys, {.descending = descending});
          expect_both_sorted<Exec, Key, Value, AsOnGpu<Exec, Key, Value>>(keys, {.descending = descending});
        }
      }
    }
  });
}

TEST(Sort, UnsignedKeys) {
  expect_sorted_on_all_spaces<std::uint32_t, kernels::NoValue>();
  expect_sorted_on_all_spaces<std::uint64_t, std::uint32_t>();
}
TEST(Sort, SignedKeys) {
  expect_sorted_on_all_spaces<std::int32_t, std::uint64_t>();
  expect_sorted_on_all_spaces<std::int64_t, kernels::NoValue>();
}
TEST(Sort, Floats) {
  expect_sorted_on_all_spaces<float, std::uint32_t>();
  expect_sorted_on_all_spaces<double, std::int64_t>();
}

// The tuning as it ships, around the sizes of its tiles, and a large array.
template <class Key, class Value>
void expect_sorted_as_shipped() {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    using Tuning = kernels::SortTuning<Exec, Key, Value>;
    auto const tile = static_cast<std::size_t>(kernels::detail::items_of_tile<Key, Tuning>());
    auto const small = static_cast<std::size_t>(kernels::detail::SmallSortKernel<Exec, Key, Value, Tuning>::most());
    for (std::size_t const n : {small, small + 1, tile - 1, tile, tile + 1, (std::size_t{1} << 20) + 3}) {
      expect_both_sorted<Exec, Key, Value, Tuning>(make_keys<Key>(Keys::random, n), {});
    }
  });
}
TEST(Sort, AsShipped) {
  expect_sorted_as_shipped<std::uint32_t, kernels::NoValue>();
  expect_sorted_as_shipped<double, std::uint32_t>();
}

// 2^10 keys, with or without values, are one launch; so are the most that one team takes, and no more.
int launches = 0;
void count_launch(char const*, std::uint32_t, std::uint64_t*) { ++launches; }

template <class Exec, class Key, class Value, template <class, class, class, class> class Sort>
[[nodiscard]] int launches_of(std::size_t n) {
  namespace tools = Kokkos::Tools::Experimental;
  using Memory = typename Exec::memory_space;
  Exec const exec;
  Kokkos::View<Key*, Memory> const keys("keys", n);
  Kokkos::View<Key*, Memory> const out("out", n);
  constexpr bool has_values = !std::is_same_v<Value, kernels::NoValue>;
  using Values = Kokkos::View<std::conditional_t<has_values, Value, char>*, Memory>;
  Values const values("values", n);
  Values const sorted_values("sorted values", n);
  Sort<Exec, Key, Value, kernels::SortTuning<Exec, Key, Value>> sort(exec, n, SortOrder{});
  auto const before = tools::get_callbacks();
  launches = 0;
  tools::set_begin_parallel_for_callback(count_launch);
  tools::set_begin_parallel_reduce_callback(count_launch);
  tools::set_begin_parallel_scan_callback(count_launch);
  if constexpr (has_values) {
    sort(exec, keys, values, out, sorted_values);
  } else {
    sort(exec, keys, out);
  }
  exec.fence();
  tools::set_callbacks(before);
  return launches;
}

template <class Key, class Value>
void expect_one_launch_of_few() {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    using Tuning = kernels::SortTuning<Exec, Key, Value>;
    constexpr auto most = static_cast<std::size_t>(kernels::detail::SmallSortKernel<Exec, Key, Value, Tuning>::most());
    static_assert(most >= 1024);
    for (std::size_t const n : {std::size_t{1}, std::size_t{1024}, most}) {
      EXPECT_EQ((launches_of<Exec, Key, Value, Onesweep>(n)), 1) << space_name<Exec>() << ", n = " << n;
      EXPECT_EQ((launches_of<Exec, Key, Value, Radix>(n)), 1) << space_name<Exec>() << ", n = " << n;
    }
    EXPECT_GT((launches_of<Exec, Key, Value, Onesweep>(most + 1)), 1) << space_name<Exec>();
    EXPECT_GT((launches_of<Exec, Key, Value, Radix>(most + 1)), 1) << space_name<Exec>();
  });
}
TEST(Sort, OneLaunchOfFewKeys) {
  expect_one_launch_of_few<std::uint32_t, kernels::NoValue>();
  expect_one_launch_of_few<double, std::int64_t>();
}

// An object allocates one copy of keys and values, and its counts: at most 9 MB, or 1% of large arrays.
std::string_view counted_space;
std::uint64_t allocated = 0;
void count_bytes(Kokkos::Tools::SpaceHandle space, char const*, void const*, std::uint64_t bytes) {
  if (space.name == counted_space) allocated += bytes;
}

template <class Exec, class Key, class Value, class Tuning, template <class, class, class, class> class Sort>
void expect_bytes(std::size_t n, double more) {
  namespace tools = Kokkos::Tools::Experimental;
  double const copy = static_cast<double>(n) * (sizeof(Key) + kernels::value_bytes<Value>);
  auto const before = tools::get_callbacks();
  counted_space = Exec::memory_space::name();
  allocated = 0;
  tools::set_allocate_data_callback(count_bytes);
  Sort<Exec, Key, Value, Tuning> const sort(Exec(), n, SortOrder{});
  tools::set_callbacks(before);
  std::string const about = std::string(space_name<Exec>()) + ", n = " + std::to_string(n);
  EXPECT_GE(static_cast<double>(allocated), copy) << about;
  EXPECT_LE(static_cast<double>(allocated), copy + std::max(more, copy / 100)) << about;
}

template <class Exec, class T, class Value>
struct FewTilesPerLaunch : AsOnGpu<Exec, T, Value> {
  static constexpr std::size_t launch_tiles = 1;
};

template <class Key, class Value>
void expect_one_copy() {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    for (int const log : {20, 24, 27, 28}) {
      std::size_t const n = std::size_t{1} << log;
      expect_bytes<Exec, Key, Value, kernels::SortTuning<Exec, Key, Value>, Onesweep>(n, 9e6);
      expect_bytes<Exec, Key, Value, kernels::SortTuning<Exec, Key, Value>, Radix>(n, 9e6);
    }
    // Tiles of a GPU in launches of 1% of this array. The counts of all digits are 48 KiB.
    std::size_t const n = (std::size_t{1} << 23) + 1;
    double const copy = static_cast<double>(n) * (sizeof(Key) + kernels::value_bytes<Value>);
    expect_bytes<Exec, Key, Value, FewTilesPerLaunch<Exec, Key, Value>, Onesweep>(n, copy / 100 + 60000);
  });
}
TEST(Sort, MemoryIsOneCopy) {
  expect_one_copy<std::uint32_t, kernels::NoValue>();
  expect_one_copy<float, std::uint32_t>();
  expect_one_copy<std::uint64_t, std::uint32_t>();
}

TEST(Sort, SomeBits) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    for (bool const descending : {false, true}) {
      for (std::size_t const n : {100, 5003}) {
        auto const keys = make_keys<std::uint32_t>(Keys::random, n);
        for (auto const& [begin, end] : {std::array{0, 1}, {31, 32}, {3, 14}, {0, 16}, {5, 29}, {8, 32}, {0, 32}}) {
          SortOrder const order{.descending = descending, .begin_bit = begin, .end_bit = end};
          using Tuning = ManyTiles<Exec, std::uint32_t, std::uint32_t>;
          expect_both_sorted<Exec, std::uint32_t, std::uint32_t, Tuning>(keys, order);
          using Joined = AsOnGpu<Exec, std::uint32_t, std::uint32_t>;
          expect_sorted<Exec, std::uint32_t, std::uint32_t, Onesweep, Joined>(keys, order, "joined");
        }
        auto const wide = make_keys<std::int64_t>(Keys::random, n);
        for (auto const& [begin, end] : {std::array{0, 64}, {63, 64}, {30, 41}, {1, 64}}) {
          SortOrder const order{.descending = descending, .begin_bit = begin, .end_bit = end};
          using Tuning = ManyTiles<Exec, std::int64_t, std::uint32_t>;
          expect_both_sorted<Exec, std::int64_t, std::uint32_t, Tuning>(wide, order);
        }
      }
    }
  });
}

TEST(Sort, RefusesWrongBits) {
  using Exec = Kokkos::DefaultExecutionSpace;
  for (auto const& [begin, end] : {std::array{-1, 8}, {8, 8}, {9, 8}, {0, 33}, {32, 0}}) {
    SortOrder const order{.begin_bit = begin, .end_bit = end};
    EXPECT_THROW((kernels::OnesweepSort<Exec, float>(Exec(), 10, order)), std::invalid_argument) << begin << " " << end;
    EXPECT_THROW((kernels::RadixSort<Exec, float>(Exec(), 10, order)), std::invalid_argument) << begin << " " << end;
  }
}

// An object takes launches until its epochs are used up, and more. It cannot be copied.
static_assert(!std::is_copy_constructible_v<kernels::OnesweepSort<Kokkos::DefaultHostExecutionSpace, float>>);
static_assert(std::is_move_constructible_v<kernels::OnesweepSort<Kokkos::DefaultHostExecutionSpace, float>>);
TEST(Sort, MoreLaunchesThanEpochs) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    Exec const exec;
    kernels::BinLookBackWorkspace<Exec> look_back("look_back", 4, 256, (std::size_t{1} << 28) - 1);
    for (std::uint32_t launch = 0; launch < 10; ++launch) {
      auto const handle = look_back.next_launch(exec, 3);
      EXPECT_EQ(handle.epoch, launch % 3 + 1);
      EXPECT_EQ(handle.first_ticket, 3 * launch);
    }
    std::size_t const n = 5003;
    auto const keys = make_keys<std::uint32_t>(Keys::random, n);
    auto const in = on_space<Exec>(keys);
    Kokkos::View<std::uint32_t*, typename Exec::memory_space> const out("out", n);
    kernels::OnesweepSort<Exec, std::uint32_t, kernels::NoValue, ManyTiles<Exec, std::uint32_t, kernels::NoValue>> sort(
        exec, n);
    for (int call = 0; call < 100; ++call) sort(exec, in, out);
    auto const found = on_host(out);
    EXPECT_TRUE(std::is_sorted(found.data(), found.data() + n));
  });
}

// ---- Splits.

struct Item {
  std::uint16_t bin;
  std::uint16_t number;
  std::uint32_t more;
};
template <class T>
struct BinOf {
  int bins;
  KOKKOS_FUNCTION int operator()(T const& item) const {
    return static_cast<int>(static_cast<std::uint32_t>(item) % static_cast<std::uint32_t>(bins));
  }
};
template <>
struct BinOf<Item> {
  int bins;
  KOKKOS_FUNCTION int operator()(Item const& item) const { return item.bin % bins; }
};

template <class T>
[[nodiscard]] T make_item(std::size_t i) {
  auto const hash = static_cast<std::uint32_t>(i * 2654435761U) >> 9;
  if constexpr (std::is_same_v<T, Item>) {
    return {static_cast<std::uint16_t>(hash), static_cast<std::uint16_t>(i), static_cast<std::uint32_t>(i)};
  } else {
    return static_cast<T>(hash);
  }
}

template <class Exec, class T, class Value, class Tuning>
void expect_split(std::size_t n, int bins) {
  std::vector<T> items(n);
  for (std::size_t i = 0; i < n; ++i) items[i] = make_item<T>(i);
  BinOf<T> const bin_of{bins};
  std::vector<std::size_t> places(n);
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return bin_of(items[a]) < bin_of(items[b]); });
  std::vector<std::int64_t> expected(static_cast<std::size_t>(bins) + 1);
  for (T const& item : items) ++expected[static_cast<std::size_t>(bin_of(item)) + 1];
  std::partial_sum(expected.begin(), expected.end(), expected.begin());

  Exec const exec;
  auto const in = on_space<Exec>(items);
  Kokkos::View<T*, typename Exec::memory_space> const out("out", n);
  Kokkos::View<std::int64_t*, typename Exec::memory_space> const offsets("offsets", expected.size());
  std::string const about =
      std::string(space_name<Exec>()) + ", n = " + std::to_string(n) + ", " + std::to_string(bins) + " bins";
  kernels::BinSplit<Exec, T, BinOf<T>, Value, Tuning> split(exec, n, bins, bin_of);
  for (int call = 0; call < 2; ++call) {
    Kokkos::deep_copy(offsets, -1);
    if constexpr (std::is_same_v<Value, kernels::NoValue>) {
      split(exec, in, out, offsets);
    } else {
      std::vector<Value> indices(n);
      std::iota(indices.begin(), indices.end(), Value(0));
      auto const values = on_space<Exec>(indices);
      Kokkos::View<Value*, typename Exec::memory_space> const moved("moved", n);
      split(exec, in, values, out, moved, offsets);
      auto const found = on_host(moved);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(found(i), static_cast<Value>(places[i])) << about << ", at " << i;
    }
    auto const found = on_host(out);
    for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(same_bits(found(i), items[places[i]])) << about << ", at " << i;
    auto const begins = on_host(offsets);
    for (std::size_t bin = 0; bin < expected.size(); ++bin) ASSERT_EQ(begins(bin), expected[bin]) << about;
  }
}

template <class T, class Value>
void expect_split_on_all_spaces() {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    for (std::size_t const n : {0, 1, 2, 383, 767, 768, 769, 5003}) {
      for (int const bins : {1, 2, 3, 100, 255, 256}) {
        expect_split<Exec, T, Value, ManyTiles<Exec, T, Value>>(n, bins);
        expect_split<Exec, T, Value, AsOnGpu<Exec, T, Value>>(n, bins);
      }
    }
    expect_split<Exec, T, Value, kernels::SplitTuning<Exec, T, Value>>((std::size_t{1} << 20) + 3, 256);
  });
}
TEST(Split, Items) {
  expect_split_on_all_spaces<std::uint32_t, kernels::NoValue>();
  expect_split_on_all_spaces<Item, std::uint16_t>();
  expect_split_on_all_spaces<std::uint8_t, std::uint64_t>();
}
TEST(Split, RefusesWrongBins) {
  using Exec = Kokkos::DefaultExecutionSpace;
  using Split = kernels::BinSplit<Exec, std::uint32_t, BinOf<std::uint32_t>>;
  for (int const bins : {-1, 0, 257}) EXPECT_THROW(Split(Exec(), 10, bins), std::invalid_argument) << bins;
}

// ---- The kernels, with teams in every order of their threads, one after another in one scratch between guard pages.

template <int team_threads, bool apart = true, bool late = false>
struct FourLanes : kernels::WarpBinTuning<AdversarialSpace, std::uint32_t, std::uint32_t> {
  static constexpr int threads = team_threads;
  static constexpr bool values_apart = apart;
  static constexpr bool values_late = late;
  static constexpr int lanes = 4;
  static constexpr int rows = 3;
  static constexpr int small_rows = 3;
  static constexpr std::size_t short_places = 50;  // longer arrays have places of 64 bits
  static constexpr int count_rows = 2;
  static constexpr int look_back_words = 3;
  using Bounds = Kokkos::LaunchBounds<>;
  using CountBounds = Kokkos::LaunchBounds<>;
};

// The teams and tiles of a GPU whose teams get large scratch.
template <class Key, class Value>
struct LargeTiles : kernels::WarpBinTuning<AdversarialSpace, Key, Value> {
  static_assert(kernels::has_large_scratch<AdversarialSpace>);
  static constexpr int threads = 12;
  static constexpr int long_threads = 24;
  using Bounds = Kokkos::LaunchBounds<>;
  using LongBounds = Kokkos::LaunchBounds<>;
  using CountBounds = Kokkos::LaunchBounds<>;
};

template <class Key, class Value, class Tuning>
class WorstSortOrders {
  static constexpr bool has_values = kernels::value_bytes<Value> > 0;
  static constexpr int threads = Tuning::threads;

 public:
  using Digit = collective::KeyOrder<Key>;
  using Arrays = kernels::detail::MovedArrays<Key, Value>;

  WorstSortOrders(std::size_t n, Keys kind)
      : n_(n), team_(threads), keys_(make_keys<Key>(kind, n)), out_(n + 1), values_(n + 1) {
    indices_.resize(n);
    if constexpr (has_values) std::iota(indices_.begin(), indices_.end(), Value(0));
  }

  void small() {
    using Kernel = kernels::detail::SmallSortKernel<AdversarialSpace, Key, Value, Tuning>;
    SortOrder const order{.descending = true};
    run_and_check(order, Kernel::scratch_bytes(), 1, [&](Arrays const& arrays) {
      return Kernel{arrays, nullptr, nullptr, static_cast<int>(n_), {order}};
    });
  }

  // The launch that counts, and a pass by 8 bits.
  void look_back() {
    using Codes = kernels::detail::KeyCodes<Key>;
    using Count = kernels::detail::CountAllKernel<AdversarialSpace, Key, Codes, Tuning>;
    using Kernel = kernels::detail::LookBackBinsKernel<AdversarialSpace, Key, Value, Digit, Tuning>;
    using Exec = Kokkos::DefaultHostExecutionSpace;
    kernels::detail::DigitsOfKeys<Key> const digits({.begin_bit = 5, .end_bit = 21});
    std::size_t const tiles = std::max<std::size_t>(1, tiles_of(n_, tile()));
    kernels::BinLookBackWorkspace<Exec> look_back("look_back", tiles, 256, n_);
    std::vector<std::int64_t> totals(2 * 256);
    std::vector<std::int64_t> begins(2 * 2 * 256);
    std::uint32_t finished = 0;
    kernels::Chunks const chunks =
        kernels::split(n_, static_cast<std::size_t>(threads) * Tuning::lanes * Tuning::count_rows, 3);
    for (Order const order : all_orders) {
      Count const count{digits.codes(), keys_.data(), 2, totals.data(), &finished, begins.data(), nullptr, 0, chunks};
      run(order, Count::scratch_bytes(2), chunks.count, count);
      EXPECT_EQ(finished, 0U);
      EXPECT_EQ(totals, std::vector<std::int64_t>(2 * 256));
      run_and_check_one(order, {.begin_bit = 5, .end_bit = 13}, Kernel::scratch_bytes(), static_cast<int>(tiles),
                        [&](Arrays const& arrays) {
                          return Kernel{arrays,
                                        digits.bin_of(0),
                                        0,
                                        n_,
                                        static_cast<std::uint32_t>(tiles),
                                        static_cast<int>(tile()),
                                        begins.data(),
                                        begins.data() + 256,
                                        look_back.next_launch(Exec(), tiles)};
                        });
      // The begins of the next launch are the ends of the bins.
      for (int bin = 0; bin < 255; ++bin) EXPECT_EQ(begins[256U + bin], begins[bin + 1U]) << bin;
    }
  }

  void chunks() {
    using Codes = kernels::detail::BinCodes<Key, Digit>;
    using Count = kernels::detail::CountChunksKernel<AdversarialSpace, Key, Codes, Tuning>;
    using Kernel = kernels::detail::ScatterChunksKernel<AdversarialSpace, Key, Value, Digit, Tuning>;
    kernels::Chunks const chunks = kernels::split(n_, tile(), 3);
    Digit const digit(false, 5, 13);
    for (Order const order : all_orders) {
      std::vector<std::int64_t> starts(256U * static_cast<std::size_t>(chunks.count));
      run(order, Count::scratch_bytes(), chunks.count, Count{{digit}, keys_.data(), starts.data(), chunks});
      std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), std::int64_t{0});
      run_and_check_one(
          order, {.begin_bit = 5, .end_bit = 13}, Kernel::scratch_bytes(), chunks.count,
          [&](Arrays const& arrays) { return Kernel{arrays, digit, starts.data(), chunks, static_cast<int>(tile())}; });
    }
  }

 private:
  [[nodiscard]] static constexpr std::size_t tile() {
    return static_cast<std::size_t>(kernels::detail::items_of_tile<Key, Tuning>());
  }

  template <class Kernel>
  void run(Order order, std::size_t bytes, int league, Kernel const& kernel) {
    GuardedArray<char> memory(bytes + 16);
    bytes = tiles_of(bytes, 16) * 16;
    char* const scratch = order == Order::descending ? memory.first(bytes) : memory.last(bytes);
    auto const error = team_.run(order, 1, [&](AdversarialTeam::Member const& member) {
      for (int rank = 0; rank < league; ++rank) {
        kernel(LeagueMember(member, rank, scratch, static_cast<int>(bytes), league));
      }
    });
    EXPECT_EQ(error.value_or(""), "");
    EXPECT_TRUE(memory.untouched());
  }
  template <class Make>
  void run_and_check_one(Order order, SortOrder const& by, std::size_t bytes, int league, Make const& make) {
    Key* const out = out_.last(n_);
    Value* values = nullptr;
    if constexpr (has_values) values = values_.last(n_);
    run(order, bytes, league, make(Arrays{keys_.data(), out, indices_.data(), values}));
    auto const places = sorted_places(keys_, by);
    for (std::size_t i = 0; i < n_; ++i) {
      ASSERT_EQ(out[i], keys_[places[i]]) << n_ << ", " << threads << " threads, " << name_of(order) << ", at " << i;
      if constexpr (has_values) {
        ASSERT_EQ(values[i], static_cast<Value>(places[i]));
      }
    }
    EXPECT_TRUE(out_.untouched());
    if constexpr (has_values) {
      EXPECT_TRUE(values_.untouched());
    }
  }
  template <class Make>
  void run_and_check(SortOrder const& by, std::size_t bytes, int league, Make const& make) {
    for (Order const order : all_orders) run_and_check_one(order, by, bytes, league, make);
  }

  std::size_t n_;
  AdversarialTeam team_;
  std::vector<Key> keys_;
  std::vector<Value> indices_;
  GuardedArray<Key> out_;
  GuardedArray<std::conditional_t<has_values, Value, std::uint32_t>> values_;
};

template <bool has_values, int threads, bool apart = true, bool late = false>
void expect_sorted_in_any_order() {
  using Key = std::uint32_t;
  using Value = std::conditional_t<has_values, std::uint32_t, kernels::NoValue>;
  using Sort = WorstSortOrders<Key, Value, FourLanes<threads, apart, late>>;
  std::size_t const tile = threads * std::size_t{12};
  for (Keys const kind : {Keys::random, Keys::few, Keys::equal}) {
    for (std::size_t const n : {std::size_t{0}, std::size_t{1}, tile - 1, tile}) {
      Sort(n, kind).small();
    }
    for (std::size_t const n : {std::size_t{1}, tile - 1, tile, tile + 1, 7 * tile + 5}) {
      Sort(n, kind).look_back();
      Sort(n, kind).chunks();
    }
  }
}
TEST(SortKernels, InOneScratchInAnyOrder) {
  expect_sorted_in_any_order<false, 1>();
  expect_sorted_in_any_order<false, 2>();
  expect_sorted_in_any_order<false, 3>();
  expect_sorted_in_any_order<true, 1>();
  expect_sorted_in_any_order<true, 2>();
  expect_sorted_in_any_order<true, 5>();
  expect_sorted_in_any_order<true, 1, false>();
  expect_sorted_in_any_order<true, 3, false>();
  expect_sorted_in_any_order<true, 1, false, true>();
  expect_sorted_in_any_order<true, 3, false, true>();
}
template <class Key, class Value>
void expect_large_tiles_sorted() {
  using Sort = WorstSortOrders<Key, Value, LargeTiles<Key, Value>>;
  Sort(3000, Keys::random).small();
  Sort(13000, Keys::random).look_back();
  Sort(13000, Keys::few).look_back();
  Sort(13000, Keys::random).chunks();
  if constexpr (kernels::value_bytes<Value> > 0) {
    WorstSortOrders<Key, Value, kernels::LongTiles<LargeTiles<Key, Value>>>(30000, Keys::random).look_back();
  }
}
TEST(SortKernels, LargeTilesInOneScratchInAnyOrder) {
  expect_large_tiles_sorted<std::uint32_t, kernels::NoValue>();
  expect_large_tiles_sorted<std::uint64_t, kernels::NoValue>();
  expect_large_tiles_sorted<std::uint32_t, std::uint32_t>();
  expect_large_tiles_sorted<std::uint64_t, std::uint32_t>();
  expect_large_tiles_sorted<std::uint32_t, std::uint64_t>();
  expect_large_tiles_sorted<std::uint64_t, std::uint64_t>();
}

// Pairs of runs of any lengths, and tiles that begin and end anywhere in them.
struct GivenRuns {
  std::size_t const* begins;
  std::size_t runs;  ///< an even number

  [[nodiscard]] KOKKOS_FUNCTION kernels::detail::RunPair pair_of(std::size_t i) const {
    std::size_t pair = 0;
    while (begins[pair + 2] <= i) pair += 2;
    return {begins[pair], begins[pair + 1], begins[pair + 2]};
  }
};
template <bool scratch>
struct MergeThree : kernels::MergeSortTuning<AdversarialSpace> {
  static constexpr bool in_scratch = scratch;
  static constexpr int in_flight = 3;
};

template <bool with_values, bool in_scratch>
void expect_merged_in_any_order(std::vector<std::size_t> const& lengths, Keys kind, int threads, int tile) {
  using Key = std::int32_t;
  using Kernel = kernels::detail::MergeRunsKernel<AdversarialSpace, Key, std::uint64_t, with_values, GivenRuns,
                                                  MergeThree<in_scratch>>;
  std::vector<std::size_t> begins{0};
  for (std::size_t const length : lengths) begins.push_back(begins.back() + length);
  std::size_t const n = begins.back();
  auto const at = [](auto& list, std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
  std::vector<Key> keys = make_keys<Key>(kind, n);
  std::vector<std::uint64_t> places(n);
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  for (std::size_t run = 0; run < lengths.size(); ++run) std::sort(at(keys, begins[run]), at(keys, begins[run + 1]));
  std::vector<std::uint64_t> expected = places;
  for (std::size_t run = 0; run < lengths.size(); run += 2) {
    std::stable_sort(at(expected, begins[run]), at(expected, begins[run + 2]),
                     [&](std::uint64_t a, std::uint64_t b) { return keys[a] < keys[b]; });
  }

  std::size_t const tiles = tiles_of(n, static_cast<std::size_t>(tile));
  std::size_t const bytes = tiles_of(2 * Kernel::Scratch::shmem_size(static_cast<std::size_t>(tile)), 16) * 16;
  AdversarialTeam team(threads);
  for (Order const order : all_orders) {
    GuardedArray<Key> out(n);
    GuardedArray<std::uint64_t> values(n);
    std::vector<std::size_t> splits(tiles, n);
    Kernel const kernel{{},          keys.data(),    places.data(),
                        out.last(n), values.last(n), splits.data(),
                        n,           tile,           {begins.data(), lengths.size()}};
    for (std::size_t t = 0; t < tiles; ++t) kernel(typename Kernel::SearchTag{}, t);
    GuardedArray<char> memory(bytes + 16);
    char* const scratch = order == Order::descending ? memory.first(bytes) : memory.last(bytes);
    auto const error = team.run(order, 1, [&](AdversarialTeam::Member const& member) {
      for (std::size_t t = 0; t < tiles; ++t) {
        kernel(typename Kernel::MergeTag{},
               LeagueMember(member, static_cast<int>(t), scratch, static_cast<int>(bytes)));
      }
    });
    EXPECT_EQ(error.value_or(""), "");
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(kernel.to[i], keys[expected[i]]) << threads << " threads, " << name_of(order) << ", at " << i;
      if constexpr (with_values) {
        ASSERT_EQ(kernel.values_to[i], expected[i]) << threads << " threads, " << name_of(order);
      }
    }
    EXPECT_TRUE(memory.untouched() && out.untouched() && (!with_values || values.untouched()));
  }
}
TEST(SortKernels, MergeRunsOfAnyLengthInAnyOrder) {
  for (std::vector<std::size_t> const& lengths : std::vector<std::vector<std::size_t>>{
           {1, 0}, {0, 1}, {40, 37}, {5, 0, 0, 0, 1, 1, 0, 3, 17, 30}, {0, 0, 90, 2, 12, 12}}) {
    for (Keys const kind : {Keys::random, Keys::few, Keys::equal}) {
      for (int const threads : {1, 2, 5}) {
        for (int const tile : {7, 12}) {
          expect_merged_in_any_order<false, true>(lengths, kind, threads, tile);
          expect_merged_in_any_order<true, true>(lengths, kind, threads, tile);
          expect_merged_in_any_order<true, false>(lengths, kind, threads, tile);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::test
