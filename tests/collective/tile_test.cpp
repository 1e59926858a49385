// Parts of arrays in registers: rows of packs, and the register tile of a scan. Tests every length up to one more than
// the tile's, every alignment, and that nothing outside is touched.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/collective/team/memory_tile.hpp>
#include <tessera/collective/team/register_tile.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/scan/scan_elements.hpp>

#include "adversarial_team.hpp"
#include "guarded_array.hpp"
#include "lane_checks.hpp"
#include "operators_for_tests.hpp"

namespace tessera::test {
namespace {

using Problem = std::optional<std::string>;

// Number of elements before the tested ones, in the same array.
constexpr std::size_t before_begin[] = {0, 3};

// Position of an array of n elements: just before a guard page, or 0, 1, ... elements after the begin of a page.
template <class T>
[[nodiscard]] T* placed(GuardedArray<T>& array, std::size_t n, int placement) {
  return placement < 0 ? array.last(n) : array.first(n, static_cast<std::size_t>(placement));
}

template <class T>
[[nodiscard]] T some(std::uint64_t seed, std::size_t i) {
  auto const bits = static_cast<std::uint32_t>(random_bits(seed * 100000 + i));
  T value;
  static_assert(sizeof(T) <= sizeof(bits));
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// ---- Rows.

template <class T, int W, int RowCount, int N>
void expect_rows() {
  using L = lane::Emulated<W>;
  using Items = thread::Rows<T, RowCount, N>;
  constexpr std::size_t size = RowCount * W * N;
  L const lanes;
  T const fill = some<T>(0, 0);
  GuardedArray<T> in_memory(size + 32);
  GuardedArray<T> out_memory(size + 32);
  for (int placement = -1; placement <= N; ++placement) {
    for (std::size_t const begin : before_begin) {
      for (std::size_t count = 0; count <= size + 1; ++count) {
        std::size_t const n = begin + count;
        T* const in = placed(in_memory, n, placement);
        for (std::size_t i = 0; i < n; ++i) in[i] = some<T>(1, i);
        typename L::template Value<Items> values;
        int const there = thread::count_before(begin, n, size);
        ASSERT_EQ(static_cast<std::size_t>(there), std::min(count, size));
        thread::load_rows(lanes, in + begin, there, fill, values);
        ASSERT_TRUE(in_memory.untouched());
        bool right = true;
        lanes.each(
            [&](int lane, Items const& items) {
              for (int row = 0; row < RowCount; ++row) {
                for (int e = 0; e < N; ++e) {
                  std::size_t const i = begin + static_cast<std::size_t>((row * W + lane) * N + e);
                  right = right && same(items.at[row][e], i < n ? some<T>(1, i) : fill);
                }
              }
            },
            values);
        ASSERT_TRUE(right) << "load, placement " << placement << ", begin " << begin << ", count " << count;

        // Another alignment than the load's; the old content shows stores that should not happen.
        T* const out = placed(out_memory, n, N - 1 - placement);
        for (std::size_t i = 0; i < n; ++i) out[i] = some<T>(2, i);
        thread::store_rows(lanes, out + begin, there, values);
        ASSERT_TRUE(out_memory.untouched())
            << "store, placement " << placement << ", begin " << begin << ", count " << count;
        for (std::size_t i = 0; i < n; ++i) {
          bool const stored = i >= begin && i < begin + size;
          ASSERT_TRUE(same(out[i], stored ? some<T>(1, i) : some<T>(2, i)))
              << "store, placement " << placement << ", begin " << begin << ", count " << count << ", element " << i;
        }
      }
    }
  }
}

TEST(Rows, LoadAndStoreWhatIsThere) {
  expect_rows<float, 1, 1, 1>();
  expect_rows<float, 4, 2, 4>();
  expect_rows<float, 8, 1, 2>();
  expect_rows<std::int32_t, 2, 3, 4>();
  expect_rows<std::uint8_t, 2, 2, 16>();
  expect_rows<std::uint16_t, 64, 2, 1>();
}

TEST(Rows, CountOnlyWhatIsThere) {
  EXPECT_EQ(thread::count_before(3, 3, 8), 0);
  EXPECT_EQ(thread::count_before(4, 3, 8), 0);  // the thread's part begins past the end
  EXPECT_EQ(thread::count_before(3, 10, 8), 7);
  EXPECT_EQ(thread::count_before(3, 11, 8), 8);
  EXPECT_EQ(thread::count_before(3, 12, 8), 8);
  EXPECT_EQ(thread::count_before(0, std::size_t{1} << 33, 8), 8);
  EXPECT_EQ(thread::count_before(std::size_t{1} << 40, (std::size_t{1} << 40) + 5, 8), 5);
}

TEST(Rows, DocumentedExample) {
  using Items = thread::Rows<int, 2, 2>;
  lane::Emulated<2> const lanes;
  alignas(16) int const data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  lane::Emulated<2>::Value<Items> values;
  thread::load_rows(lanes, data, 8, -1, values);
  auto const held = [&](int lane) {
    Items const& items = values.at[lane];
    return std::vector<int>{items.at[0][0], items.at[0][1], items.at[1][0], items.at[1][1]};
  };
  EXPECT_EQ(held(0), (std::vector<int>{0, 1, 4, 5}));
  EXPECT_EQ(held(1), (std::vector<int>{2, 3, 6, 7}));
}

// ---- The register tile.

// Expected scan of [begin, begin + size), limited to n, from left to right: the content of `out`, and the total.
template <class Elements>
[[nodiscard]] typename Elements::Value serial_tile(Elements const& elements, typename Elements::Scalar const* in,
                                                   std::size_t begin, std::size_t end,
                                                   typename Elements::Value const& prefix,
                                                   std::vector<typename Elements::Scalar>& out) {
  auto const op = elements.op();
  auto running = prefix;
  auto total = op.identity();
  for (std::size_t i = begin; i < end; ++i) {
    auto const earlier = running;
    auto const lifted = elements.lift(i, in[i]);
    running = op(running, lifted);
    total = op(total, lifted);
    out[i] = elements.lower(i, earlier, running);
  }
  return total;
}

// Every length and alignment within an access of N elements; `what` describes the tile in messages.
template <class L, class Tile, int N, class Elements>
void expect_tile(Elements const& elements, typename Elements::Value const& prefix, std::string const& what) {
  using T = typename Elements::Scalar;
  constexpr std::size_t size = Tile::size;
  L const lanes;
  GuardedArray<T> in_memory(size + 32);
  GuardedArray<T> out_memory(size + 32);
  for (int placement = -1; placement <= N; ++placement) {
    for (std::size_t const begin : before_begin) {
      for (std::size_t count = 0; count <= size + 1; ++count) {
        auto const where = [&] {
          return what + ", placement " + std::to_string(placement) + ", begin " + std::to_string(begin) + ", count " +
                 std::to_string(count);
        };
        std::size_t const n = begin + count;
        T* const in = placed(in_memory, n, placement);
        T* const out = placed(out_memory, n, N - 1 - placement);
        for (std::size_t i = 0; i < n; ++i) in[i] = some<T>(count, i);
        for (bool const past_caches : {false, true}) {
          for (std::size_t i = 0; i < n; ++i) out[i] = some<T>(count + 1, i);
          std::vector<T> expected(out, out + n);
          auto const total = serial_tile(elements, in, begin, std::min(n, begin + size), prefix, expected);

          Tile tile;
          tile.load(lanes, elements, in, begin, n);
          ASSERT_TRUE(same(tile.scan(lanes, elements), total)) << where();
          tile.store(lanes, elements, prefix, out, past_caches);
          ASSERT_TRUE(in_memory.untouched() && out_memory.untouched()) << where();
          ASSERT_EQ(difference(std::vector<T>(out, out + n), expected), std::nullopt) << where() << ", " << past_caches;
        }
      }
    }
  }
}

template <class L, int RowCount, int N, class Elements>
void expect_register_tile(Elements const& elements, typename Elements::Value const& prefix) {
  using Tile = team::RegisterTile<L, Elements, RowCount, N>;
  static_assert(Tile::size == RowCount * L::width * N);
  expect_tile<L, Tile, N>(
      elements, prefix,
      std::to_string(L::width) + " lanes, " + std::to_string(RowCount) + " rows of " + std::to_string(N));
}

template <int BlockCount, int RunCount, int RunLength, class Elements>
void expect_memory_tile(Elements const& elements, typename Elements::Value const& prefix) {
  using L = lane::Emulated<8>;
  using Tile = team::MemoryTile<L, Elements, BlockCount, RunCount, RunLength>;
  static_assert(Tile::size == BlockCount * RunCount * RunLength);
  expect_tile<L, Tile, 2>(
      elements, prefix,
      std::to_string(BlockCount) + " blocks of " + std::to_string(RunCount) + " runs of " + std::to_string(RunLength));
}

using Op = Compose<std::uint16_t>;
// Scalar{} is the map to 0, not the identity: used past the end, it would erase the total.
using Maps = kernels::ScanElements<Affine<std::uint16_t>, Op>;
using Segments =
    kernels::ScanElements<std::int32_t,
                          collective::SegmentedOperator<std::int32_t, collective::AnyOperator<std::int32_t>>>;

[[nodiscard]] Segments segments(std::size_t segment, bool exclusive) {
  return {{{collective::OperatorKind::sum}}, exclusive, segment};
}

template <int W>
void expect_register_tiles() {
  using L = lane::Emulated<W>;
  Op::Value const prefix{17, 4};
  expect_register_tile<L, 1, 1>(Maps{}, prefix);
  expect_register_tile<L, 3, 1>(Maps{{}, true}, prefix);
  expect_register_tile<L, 2, 4>(Maps{}, prefix);
  expect_register_tile<L, 1, 4>(Maps{{}, true}, prefix);
}

TEST(RegisterTile, ScansEveryLength) {
  expect_register_tiles<1>();
  expect_register_tiles<2>();
  expect_register_tiles<8>();
  expect_register_tiles<64>();
}

TEST(RegisterTile, ScansSegmentsOfEveryLength) {
  using L = lane::Emulated<4>;
  for (std::size_t const segment : {1, 2, 3, 5, 8, 31, 1000}) {
    for (bool const exclusive : {false, true}) {
      expect_register_tile<L, 2, 4>(segments(segment, exclusive), {12345, 0});
    }
  }
}

TEST(RegisterTile, DocumentedExample) {
  using Elements = kernels::ScanElements<int, collective::Sum<int>>;
  lane::Emulated<2> const lanes;
  alignas(16) int data[8] = {3, 1, 4, 1, 5, 9, 2, 6};
  team::RegisterTile<lane::Emulated<2>, Elements, 2, 2> tile;
  tile.load(lanes, Elements{}, data, 0, 8);
  EXPECT_EQ(tile.scan(lanes, Elements{}), 31);
  tile.store(lanes, Elements{}, 100, data);
  EXPECT_EQ(std::vector<int>(data, data + 8), (std::vector<int>{103, 104, 108, 109, 114, 123, 125, 131}));
}

TEST(MemoryTile, ScansEveryLength) {
  for (bool const exclusive : {false, true}) {
    expect_memory_tile<1, 1, 1>(Maps{{}, exclusive}, {17, 4});
    expect_memory_tile<1, 4, 3>(Maps{{}, exclusive}, {17, 4});
    expect_memory_tile<5, 1, 4>(Maps{{}, exclusive}, {17, 4});
    expect_memory_tile<3, 8, 2>(Maps{{}, exclusive}, {17, 4});
    for (std::size_t const segment : {1, 2, 3, 5, 8, 31, 1000}) {
      expect_memory_tile<3, 2, 4>(segments(segment, exclusive), {12345, 0});
    }
  }
}

TEST(MemoryTile, DocumentedExample) {
  using Elements = kernels::ScanElements<int, collective::Sum<int>>;
  lane::Emulated<8> const lanes;
  int data[7] = {3, 1, 4, 1, 5, 9, 2};
  team::MemoryTile<lane::Emulated<8>, Elements, 2, 2, 2> tile;
  tile.load(lanes, Elements{}, data, 0, 7);
  EXPECT_EQ(tile.scan(lanes, Elements{}), 25);
  tile.store(lanes, Elements{}, 100, data);
  EXPECT_EQ(std::vector<int>(data, data + 7), (std::vector<int>{103, 104, 108, 109, 114, 123, 125}));
}

// A team's tile: each thread has a part in its registers, joined by scan_threads. Includes parts smaller than the
// registers.
TEST(RegisterTile, JoinedByATeamInAnyOrder) {
  using L = lane::Emulated<2>;
  using Tile = team::RegisterTile<L, Maps, 2, 2>;
  for (int const threads : {1, 2, 3, 5}) {
    AdversarialTeam team(threads);
    for (int const part : {1, 3, Tile::size}) {
      int const whole = threads * part;
      for (int n = 0; n <= whole; ++n) {
        std::vector<Op::Value> in(static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = some<Op::Value>(7, i);
        auto const expected = serial_inclusive(in, Op{});
        for (Order const order : all_orders) {
          auto data = in;
          std::vector<Op::Value> scratch(static_cast<std::size_t>(threads));
          poison(scratch, 3);
          auto const problem = team.run(order, 4, [&](AdversarialTeam::Member const& member) {
            L const lanes;
            Tile own;
            auto const begin = static_cast<std::size_t>(std::min(member.team_rank() * part, n));
            auto const end = std::min(begin + static_cast<std::size_t>(part), static_cast<std::size_t>(n));
            own.load(lanes, Maps{}, data.data(), begin, end);
            auto const total = own.scan(lanes, Maps{});
            auto const all = team::scan_threads(member, lanes, total, scratch.data(), Op{});
            own.store(lanes, Maps{}, all.before, data.data());
          });
          ASSERT_EQ(problem, std::nullopt);
          ASSERT_EQ(difference(data, expected), std::nullopt)
              << threads << " threads, parts of " << part << ", n = " << n << ", " << name_of(order);
        }
      }
    }
  }
}

// ---- On every space: each thread has one tile of a different length and alignment.

template <class Exec, class L, class Elements, int RowCount, int N>
struct TileKernel {
  using T = typename Elements::Scalar;
  using Value = typename Elements::Value;
  using Tile = team::RegisterTile<L, Elements, RowCount, N>;
  template <class U>
  using DeviceView = Kokkos::View<U*, typename Exec::memory_space>;
  // Odd, so that tiles begin at every alignment.
  static constexpr std::size_t stride = Tile::size + 3;
  static constexpr int lengths = Tile::size + 2;

  Elements elements;
  Value prefix;
  DeviceView<T> in;
  DeviceView<T> out;
  DeviceView<Value> totals;

  KOKKOS_FUNCTION void operator()(typename Kokkos::TeamPolicy<Exec>::member_type const& team) const {
    int const count = team.league_rank() * team.team_size() + team.team_rank();
    if (count >= lengths) return;
    L const lanes;
    Tile tile;
    std::size_t const begin = count * stride;
    tile.load(lanes, elements, in.data(), begin, begin + count);
    Value const total = tile.scan(lanes, elements);
    Kokkos::single(Kokkos::PerThread(team), [&] { totals(count) = total; });
    tile.store(lanes, elements, prefix, out.data());
  }
};

template <class Exec, int W, int RowCount, int N, class Elements>
void expect_register_tile_on_space(Elements const& elements, typename Elements::Value const& prefix) {
  using L = lane::On<Exec, W>;
  using Kernel = TileKernel<Exec, L, Elements, RowCount, N>;
  using T = typename Elements::Scalar;
  auto const n = static_cast<std::size_t>(Kernel::lengths) * Kernel::stride;
  Kernel const kernel{elements, prefix, typename Kernel::template DeviceView<T>("in", n),
                      typename Kernel::template DeviceView<T>("out", n),
                      typename Kernel::template DeviceView<typename Elements::Value>("totals", Kernel::lengths)};
  auto const in = Kokkos::create_mirror_view(kernel.in);
  auto const out = Kokkos::create_mirror_view(kernel.out);
  for (std::size_t i = 0; i < n; ++i) in(i) = some<T>(1, i);
  for (std::size_t i = 0; i < n; ++i) out(i) = some<T>(2, i);
  std::vector<T> expected(out.data(), out.data() + n);
  Kokkos::deep_copy(kernel.in, in);
  Kokkos::deep_copy(kernel.out, out);
  int const threads = is_gpu<Exec> ? 3 : 1;
  int const league = (Kernel::lengths + threads - 1) / threads;
  Kokkos::parallel_for("register_tile", Kokkos::TeamPolicy<Exec>(league, threads, lane::vector_length<Exec>(W)),
                       kernel);
  Kokkos::deep_copy(out, kernel.out);
  auto const totals = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, kernel.totals);
  for (std::size_t count = 0; count < Kernel::lengths; ++count) {
    std::size_t const begin = count * Kernel::stride;
    std::size_t const end = begin + std::min<std::size_t>(count, Kernel::Tile::size);
    auto const total = serial_tile(elements, in.data(), begin, end, prefix, expected);
    ASSERT_TRUE(same(totals(count), total)) << space_name<Exec>() << ", " << W << " lanes, count " << count;
  }
  ASSERT_EQ(difference(std::vector<T>(out.data(), out.data() + n), expected), std::nullopt)
      << space_name<Exec>() << ", " << W << " lanes; elements of a tile: " << Kernel::Tile::size;
}

template <int W, int RowCount, int N>
void expect_register_tile_on_all_spaces() {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    if constexpr (has_lanes<Exec, W>) {
      expect_register_tile_on_space<Exec, W, RowCount, N>(Maps{}, {17, 4});
      expect_register_tile_on_space<Exec, W, RowCount, N>(segments(5, true), {12345, 0});
    }
  });
}

TEST(RegisterTile, ScansEveryLengthOnAllSpaces) {
  expect_register_tile_on_all_spaces<1, 2, 4>();
  expect_register_tile_on_all_spaces<8, 2, 4>();
  expect_register_tile_on_all_spaces<32, 2, 4>();
  expect_register_tile_on_all_spaces<32, 3, 1>();
}

}  // namespace
}  // namespace tessera::test
