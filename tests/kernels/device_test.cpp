// Kernels of the whole device: tile scans in levels and in registers, chunks, team shapes. look_back_test.cpp tests
// look-back.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

// Must precede the kernels, which call Kokkos::single with this member by its qualified name.
#include "adversarial_league.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/large_scratch.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/scan/scan_elements.hpp>
#include <tessera/kernels/held_column_softmax.hpp>
#include <tessera/kernels/scan.hpp>
#include <tessera/kernels/two_level_scan.hpp>

#include "adversarial_team.hpp"
#include "lane_checks.hpp"
#include "operators_for_tests.hpp"
#include "team_cases.hpp"

namespace tessera::test {
namespace {

// ---- Scan of tiles in levels.

struct TileOfTests : kernels::TileScanInScratch {
  [[nodiscard]] static double rounding_steps(int, int) { return 0; }
};

struct HillisSteeleTile : TileOfTests {
  [[nodiscard]] static std::array<int, 2> scratch(int tile, int) { return {tile, tile}; }
  template <class M, class Values, class Op>
  [[nodiscard]] KOKKOS_FUNCTION static kernels::ScannedTile<Values> run(M const& team, Values const& tile, int n,
                                                                        Op const& op) {
    Values const other(team.team_scratch(0), tile.extent(0));
    return {team::hillis_steele(team, tile, other, n, op), true, op.identity()};
  }
};

struct BlellochTile : TileOfTests {
  [[nodiscard]] static std::array<int, 1> scratch(int tile, int) { return {team::blelloch_leaves(tile) + 1}; }
  template <class M, class Values, class Op>
  [[nodiscard]] KOKKOS_FUNCTION static kernels::ScannedTile<Values> run(M const& team, Values const& tile, int n,
                                                                        Op const& op) {
    auto const total = team::blelloch(team, tile, n, op);
    return {tile, false, total};
  }
};

/// Padded rows of 4, so that the tests' tiles have several rows.
struct BlellochPaddedTile : BlellochTile {
  template <class Values>
  using Tile = team::BankPadded<Values, 4>;
  [[nodiscard]] static std::array<int, 1> scratch(int tile, int threads) {
    return {team::padded_length(BlellochTile::scratch(tile, threads)[0], 4)};
  }
};

/// Needs more scratch than its statement per element says.
struct TooLargeTile : BlellochTile {
  [[nodiscard]] static std::array<int, 1> scratch(int, int) { return {1 << 28}; }
};

template <class L>
struct LaneTile : TileOfTests {
  static constexpr int lanes = L::width;
  [[nodiscard]] static std::array<int, 2> scratch(int tile, int threads) { return {tile, threads}; }
  template <class M, class Values, class Op>
  [[nodiscard]] KOKKOS_FUNCTION static kernels::ScannedTile<Values> run(M const& team, Values const& tile, int n,
                                                                        Op const& op) {
    Values const totals(team.team_scratch(0), team.team_size());
    team::lane_scan(team, L{}, tile.data(), totals.data(), n, op);
    return {tile, true, op.identity()};
  }
};

struct RunTile : TileOfTests {
  static constexpr int length = 3;

  [[nodiscard]] KOKKOS_FUNCTION static int runs(int tile) { return (tile + length - 1) / length; }
  [[nodiscard]] static std::array<int, 3> scratch(int tile, int) { return {tile, runs(tile), runs(tile)}; }
  template <class M, class Values, class Op>
  [[nodiscard]] KOKKOS_FUNCTION static kernels::ScannedTile<Values> run(M const& team, Values const& tile, int n,
                                                                        Op const& op) {
    int const count = runs(static_cast<int>(tile.extent(0)));
    Values const totals(team.team_scratch(0), count);
    Values const other(team.team_scratch(0), count);
    team::run_scan(team, tile, totals, other, n, length, op);
    return {tile, true, op.identity()};
  }
};

using Op = Compose<std::uint32_t>;
using Maps = kernels::ScanElements<Op::Value, Op>;
using SegmentOp = collective::SegmentedOperator<std::int32_t, collective::AnyOperator<std::int32_t>>;
using Segments = kernels::ScanElements<std::int32_t, SegmentOp>;

[[nodiscard]] std::vector<Op::Value> expected_scan(Maps const& elements, std::vector<Op::Value> const& in) {
  return elements.exclusive ? serial_exclusive(in, Op{}) : serial_inclusive(in, Op{});
}

[[nodiscard]] std::vector<std::int32_t> expected_scan(Segments const& elements, std::vector<std::int32_t> const& in) {
  std::vector<std::int32_t> result;
  auto const& op = elements.combine.op;
  for (std::size_t begin = 0; begin < in.size(); begin += elements.segment) {
    auto const end = std::min(begin + elements.segment, in.size());
    std::vector<std::int32_t> const segment(in.begin() + static_cast<std::ptrdiff_t>(begin),
                                            in.begin() + static_cast<std::ptrdiff_t>(end));
    auto const scanned = elements.exclusive ? serial_exclusive(segment, op) : serial_inclusive(segment, op);
    result.insert(result.end(), scanned.begin(), scanned.end());
  }
  return result;
}

[[nodiscard]] std::vector<Op::Value> input_for(Maps const&, std::size_t n, std::uint64_t seed) {
  return samples<Op>(n, seed);
}
[[nodiscard]] std::vector<std::int32_t> input_for(Segments const&, std::size_t n, std::uint64_t seed) {
  std::vector<std::int32_t> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<std::int32_t>(random_bits((seed << 24) + i));
  return values;
}

// Runs every team of the league, one after another in the same scratch, in every order of threads.
template <class TileScan, class Elements>
void expect_tiles_in_any_order(Elements const& elements, int threads, int tile) {
  using Kernel = kernels::detail::ScanTiles<AdversarialSpace, Elements, TileScan>;
  using T = typename Elements::Scalar;
  using Value = typename Elements::Value;
  AdversarialTeam team(threads);
  for (std::size_t n = 1; n <= 3 * static_cast<std::size_t>(tile) + 1; ++n) {
    auto const in = input_for(elements, n, n);
    auto const tiles = static_cast<int>(tiles_of(n, static_cast<std::size_t>(tile)));
    // Scan each tile separately.
    std::vector<T> expected(n);
    std::vector<Value> expected_totals;
    for (std::size_t begin = 0; begin < n; begin += static_cast<std::size_t>(tile)) {
      Value running = elements.op().identity();
      for (std::size_t i = begin; i < std::min(begin + static_cast<std::size_t>(tile), n); ++i) {
        Value const earlier = running;
        running = elements.op()(running, elements.lift(i, in[i]));
        expected[i] = elements.lower(i, earlier, running);
      }
      expected_totals.push_back(running);
    }
    for (Order const order : all_orders) {
      std::vector<T> out(n);
      std::vector<Value> totals(expected_totals.size());
      std::vector<Value> scratch(Kernel::scratch_bytes(tile, threads) / sizeof(Value) + 16);
      poison(out, 1);
      poison(totals, 2);
      poison(scratch, 3);
      Kernel const kernel{elements,
                          typename Kernel::template Flat<T const>(in.data(), n),
                          typename Kernel::template Flat<T>(out.data(), n),
                          typename Kernel::template Flat<Value>(totals.data(), totals.size()),
                          tile,
                          TileScan::scratch(tile, threads)[0]};
      auto const problem = team.run(order, n, [&](AdversarialTeam::Member const& member) {
        for (int rank = 0; rank < tiles; ++rank) {
          kernel(LeagueMember(member, rank, scratch.data(), static_cast<int>(scratch.size() * sizeof(Value))));
        }
      });
      ASSERT_EQ(problem, std::nullopt);
      ASSERT_EQ(difference(out, expected), std::nullopt)
          << "n = " << n << ", tile " << tile << ", " << threads << " threads, " << name_of(order) << " order";
      ASSERT_EQ(difference(totals, expected_totals), std::nullopt)
          << "totals, n = " << n << ", tile " << tile << ", " << threads << " threads, " << name_of(order) << " order";
    }
  }
}

TEST(ScanTiles, ReadsInclusiveAndExclusiveScans) {
  int const inclusive[] = {3, 4, 8};
  using Values = Kokkos::View<int const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  kernels::ScannedTile<Values> const including{Values(inclusive, 3), true, -1};
  int const exclusive[] = {0, 3, 4, -2};  // the following elements belong to others
  kernels::ScannedTile<Values> const excluding{Values(exclusive, 3), false, 8};
  for (auto const& tile : {including, excluding}) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(tile.before(i, 0), exclusive[i]);
      EXPECT_EQ(tile.through(i, 3), inclusive[i]);
    }
  }
}

TEST(ScanTiles, InAnyOrder) {
  for (int const threads : {1, 2, 3, 4, 7}) {
    for (int const tile : {2, 3, 8, 13}) {
      for (bool const exclusive : {false, true}) {
        expect_tiles_in_any_order<HillisSteeleTile>(Maps{{}, exclusive}, threads, tile);
        expect_tiles_in_any_order<BlellochTile>(Maps{{}, exclusive}, threads, tile);
        expect_tiles_in_any_order<BlellochPaddedTile>(Maps{{}, exclusive}, threads, tile);
        expect_tiles_in_any_order<LaneTile<lane::Emulated<2>>>(Maps{{}, exclusive}, threads, tile);
        expect_tiles_in_any_order<RunTile>(Maps{{}, exclusive}, threads, tile);
      }
    }
  }
}

// Sizes around the tile, its square, its cube and so on.
[[nodiscard]] std::vector<std::size_t> sizes_around_powers(std::size_t tile, std::size_t most) {
  std::vector<std::size_t> result{0, 1};
  for (std::size_t power = tile; power <= most; power *= tile) {
    for (std::size_t const n : {power - 1, power, power + 1, 2 * power + 1}) result.push_back(n);
  }
  return result;
}

struct SmallTuning {
  static constexpr int lanes = 4;
  template <class Lanes, class Elements>
  using Tile = team::RegisterTile<Lanes, Elements, 2, 1>;
  template <class Lanes, class Elements>
  using LookBackTile = Tile<Lanes, Elements>;
  using LookBackBounds = Kokkos::LaunchBounds<>;
  static int ahead(auto const&, std::size_t) { return 3; }
};

// The single pass, tile after tile in the same scratch, in every order of threads: each tile finds its predecessors
// finished.
template <class Elements>
void expect_single_pass_in_any_order(Elements const& elements, int threads) {
  using Kernel = kernels::detail::LookBackScanKernel<AdversarialSpace, Elements, SmallTuning, lane::Emulated<4>>;
  using Exec = Kokkos::DefaultHostExecutionSpace;
  using T = typename Elements::Scalar;
  using Value = typename Elements::Value;
  AdversarialTeam team(threads);
  int const part = Kernel::Tile::size;
  std::size_t const tile = static_cast<std::size_t>(threads) * part;
  for (std::size_t n = 1; n <= 3 * tile + 1; n += 5) {
    auto const in = input_for(elements, n, n);
    auto const expected = expected_scan(elements, in);
    for (Order const order : all_orders) {
      std::size_t const tiles = tiles_of(n, tile);
      kernels::LookBackWorkspace<Exec, Value> look_back("look_back", tiles);
      std::vector<T> out(n);
      std::vector<Value> scratch(Kernel::scratch_bytes(threads) / sizeof(Value) + 16);
      poison(out, 1);
      poison(scratch, 2);
      Kernel const kernel{elements, in.data(), out.data(), n, tile, part, 1, look_back.next_launch(Exec()), n % 2 == 0};
      auto const problem = team.run(order, n, [&](AdversarialTeam::Member const& member) {
        for (std::size_t rank = 0; rank < tiles; ++rank) {
          kernel(LeagueMember(member, static_cast<int>(rank), scratch.data(),
                              static_cast<int>(scratch.size() * sizeof(Value))));
        }
      });
      ASSERT_EQ(problem, std::nullopt);
      ASSERT_EQ(difference(out, expected), std::nullopt)
          << "n = " << n << ", " << threads << " threads, " << name_of(order) << " order";
    }
  }
}

TEST(LookBackScan, InOneScratchInAnyOrder) {
  for (int const threads : {1, 2, 3, 5}) {
    expect_single_pass_in_any_order(Segments{.combine = {}, .exclusive = false, .segment = 7}, threads);
    expect_single_pass_in_any_order(Segments{.combine = {}, .exclusive = true, .segment = 1000}, threads);
    expect_single_pass_in_any_order(Maps{}, threads);
  }
}

// The three launches, chunk after chunk in the same scratch, in every order of threads; `before` precedes the first
// element.
void expect_chunks_in_any_order(int threads, std::int32_t before) {
  using Operator = kernels::OperatorOfPart<collective::Sum<std::int32_t>, Kokkos::HostSpace>;
  using Elements = kernels::ScanElements<std::int32_t, Operator>;
  using Kernels = kernels::detail::ReduceThenScanKernels<AdversarialSpace, Elements, SmallTuning>;
  Elements const elements{.before = Kokkos::View<std::int32_t, Kokkos::HostSpace>(&before)};
  AdversarialTeam team(threads);
  int const part = Kernels::Tile::size;
  std::size_t const tile = static_cast<std::size_t>(threads) * part;
  for (std::size_t n = 1; n <= 12 * tile + 1; n += tile - 1) {
    kernels::Chunks const chunks = kernels::split(n, tile, 4);
    std::vector<std::int32_t> in(n);
    std::vector<std::int32_t> expected(n);
    for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<std::int32_t>(i * 7 % 13) - 3;
    std::int32_t sum = before;
    for (std::size_t i = 0; i < n; ++i) expected[i] = sum += in[i];
    for (Order const order : all_orders) {
      std::vector<std::int32_t> out(n);
      std::vector<std::int32_t> totals(static_cast<std::size_t>(chunks.count));
      std::vector<std::int32_t> scratch(Kernels::scratch_bytes(threads) / sizeof(std::int32_t) + 16);
      poison(out, 1);
      poison(totals, 2);
      poison(scratch, 3);
      Kernels const kernels{elements, in.data(), out.data(), totals.data(), chunks, tile, part, n % 2 == 0};
      auto const launch = [&]<class Tag>(Tag tag, int league) {
        auto const problem = team.run(order, n, [&](AdversarialTeam::Member const& member) {
          for (int rank = 0; rank < league; ++rank) {
            kernels(tag, LeagueMember(member, rank, scratch.data(), static_cast<int>(scratch.size() * 4)));
          }
        });
        ASSERT_EQ(problem, std::nullopt);
      };
      if (chunks.count > 1) {
        launch(typename Kernels::ReduceTag{}, chunks.count);
        launch(typename Kernels::TotalsTag{}, 1);
      }
      launch(typename Kernels::ScanTag{}, chunks.count);
      ASSERT_EQ(difference(out, expected), std::nullopt)
          << "n = " << n << ", " << threads << " threads, " << name_of(order) << " order";
    }
  }
}

TEST(ReduceThenScan, InOneScratchInAnyOrder) {
  for (int const threads : {1, 2, 3, 5}) expect_chunks_in_any_order(threads, 1000);
}

template <class Exec, class TileScan, class T, class Op>
void expect_levels(kernels::ScanElements<T, Op> const& elements, int tile, int threads, std::size_t most) {
  using View = Kokkos::View<T*, typename Exec::memory_space>;
  Exec const exec;
  for (std::size_t const n : sizes_around_powers(static_cast<std::size_t>(tile), most)) {
    kernels::TwoLevelScan<Exec, T, Op, TileScan> const scan(exec, n, elements, tile, threads);
    int levels = 0;
    for (std::size_t reach = static_cast<std::size_t>(tile); reach < n; reach *= static_cast<std::size_t>(tile))
      ++levels;
    EXPECT_EQ(scan.levels(), levels) << n;
    for (std::uint64_t launch = 0; launch < 2; ++launch) {
      auto const values = input_for(elements, n, 10 * n + launch);
      View const in("in", n);
      View const out("out", n);
      Kokkos::deep_copy(in, Kokkos::View<T const*, Kokkos::HostSpace>(values.data(), n));
      bool const in_place = launch == 1;
      scan(exec, in, in_place ? in : out);
      auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, in_place ? in : out);
      ASSERT_EQ(difference(std::vector<T>(found.data(), found.data() + n), expected_scan(elements, values)),
                std::nullopt)
          << space_name<Exec>() << ", n = " << n << ", tile " << tile << ", " << threads << " threads, launch "
          << launch;
    }
  }
}

// Enough levels of totals to see a carry lost between any two of them.
constexpr std::size_t most_elements = 600;

// Limits size and team size together: a host's team with more threads than cores needs long for each barrier.
template <class Exec, class Body>
void for_each_team(int width, Body&& body) {
  body(1, most_elements);
  if (is_gpu<Exec>) {
    body(3, most_elements);
    body(128 / width, most_elements);
  } else if (Exec().concurrency() >= 3) {
    body(3, std::size_t{9});
  }
}

TEST(TwoLevelScan, JoinsTilesOfEveryLevel) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    for_each_team<Exec>(1, [](int threads, std::size_t most) {
      for (int const tile : {2, 3, 8}) {
        expect_levels<Exec, HillisSteeleTile>(Maps{}, tile, threads, most);
        expect_levels<Exec, BlellochTile>(Maps{{}, true}, tile, threads, most);
        expect_levels<Exec, BlellochPaddedTile>(Maps{}, tile, threads, most);
      }
      expect_levels<Exec, RunTile>(Maps{{}, true}, 8, threads, most);
    });
    constexpr int width = 4;
    for_each_team<Exec>(width, [](int threads, std::size_t most) {
      expect_levels<Exec, LaneTile<lane::On<Exec, width>>>(Maps{}, 3, threads, most);
    });
  });
}

TEST(TwoLevelScan, KeepsSegmentsApart) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    for (int const tile : {2, 3, 8}) {
      for (std::size_t const segment : {1, 2, 3, 5, 8, 9, 24, 64, 100, 1000}) {
        for (bool const exclusive : {false, true}) {
          expect_levels<Exec, BlellochTile>(Segments{{{collective::OperatorKind::sum}}, exclusive, segment}, tile, 1,
                                            80);
        }
        expect_levels<Exec, HillisSteeleTile>(Segments{{{collective::OperatorKind::max}}, true, segment}, tile, 1, 80);
      }
    }
  });
}

TEST(TwoLevelScan, RefusesTilesThatNeverBecomeOne) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    using Scan = kernels::TwoLevelScan<Exec, Op::Value, Op, BlellochTile>;
    EXPECT_THROW((Scan(Exec(), 10, {}, 1)), Skip);
  });
}

TEST(TwoLevelScan, RefusesScratchThatThereIsNot) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    using Scan = kernels::TwoLevelScan<Exec, Op::Value, Op, TooLargeTile>;
    EXPECT_THROW((Scan(Exec(), 10, {}, 8)), Skip);
  });
}

// ---- Scans of tiles in registers and in memory; tiles are small so that there are many.

struct SmallRegisterTiles {
  static constexpr int lanes = 4;
  template <class Lanes, class Elements>
  using Tile = team::RegisterTile<Lanes, Elements, 2, 2>;
  template <class Lanes, class Elements>
  using LookBackTile = Tile<Lanes, Elements>;
  using LookBackBounds = Kokkos::LaunchBounds<512, 2>;
  static int ahead(auto const&, std::size_t) { return 2; }
};
struct SmallMemoryTiles {
  static constexpr int lanes = 4;
  template <class Lanes, class Elements>
  using Tile = team::MemoryTile<Lanes, Elements, 2, 3, 2>;
  template <class Lanes, class Elements>
  using LookBackTile = Tile<Lanes, Elements>;
  using LookBackBounds = Kokkos::LaunchBounds<512, 2>;
  static int ahead(auto const&, std::size_t) { return 2; }
};

template <class Exec, class Tuning, template <class, class, class, class> class Scan, class T, class Op>
void expect_scans(kernels::ScanElements<T, Op> const& elements, int threads) {
  using View = Kokkos::View<T*, typename Exec::memory_space>;
  Exec const exec;
  for (std::size_t const n : {0, 1, 2, 15, 16, 17, 63, 64, 65, 129, 1000}) {
    for (int const tile : {0, 1, 7}) {
      Scan<Exec, T, Op, Tuning> scan(exec, n, elements, tile, threads);
      for (std::uint64_t launch = 0; launch < 3; ++launch) {
        auto const values = input_for(elements, n, 10 * n + launch);
        View const in("in", n);
        View const out("out", n);
        Kokkos::deep_copy(in, Kokkos::View<T const*, Kokkos::HostSpace>(values.data(), n));
        bool const in_place = launch == 1;
        scan(exec, in, in_place ? in : out);
        auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, in_place ? in : out);
        ASSERT_EQ(difference(std::vector<T>(found.data(), found.data() + n), expected_scan(elements, values)),
                  std::nullopt)
            << space_name<Exec>() << ", n = " << n << ", tile " << tile << ", " << threads << " threads, launch "
            << launch;
      }
    }
  }
}

template <class Exec, class Tuning, template <class, class, class, class> class Scan>
void expect_scans_on() {
  for (int const threads : {1, 3}) {
    if (!is_gpu<Exec> && threads > Exec().concurrency()) continue;
    for (bool const exclusive : {false, true}) {
      expect_scans<Exec, Tuning, Scan>(Maps{{}, exclusive}, threads);
      expect_scans<Exec, Tuning, Scan>(Segments{{{collective::OperatorKind::sum}}, exclusive, 5}, threads);
      expect_scans<Exec, Tuning, Scan>(Segments{{{collective::OperatorKind::max}}, exclusive, 100}, threads);
    }
  }
}

template <template <class, class, class, class> class Scan>
void expect_scans_everywhere() {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    expect_scans_on<Exec, SmallRegisterTiles, Scan>();
    if constexpr (!is_gpu<Exec>) expect_scans_on<Exec, SmallMemoryTiles, Scan>();
  });
}

TEST(LookBackScan, JoinsTilesInOrder) { expect_scans_everywhere<kernels::LookBackScan>(); }
TEST(ReduceThenScan, JoinsChunksInOrder) { expect_scans_everywhere<kernels::ReduceThenScan>(); }

// ---- Team shapes.

TEST(Chunks, CoverEveryElementOnce) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    Exec const exec;
    for (std::size_t const tile : {1, 2, 7, 32, 1000}) {
      for (std::size_t const n : {0, 1, 2, 3, 6, 7, 8, 31, 32, 33, 63, 64, 65, 999, 1000, 1001, 12345, 1 << 20}) {
        for (int const lanes : {1, 4, 256}) {
          auto const chunks = kernels::chunks_of(exec, n, tile, lanes);
          ASSERT_GE(chunks.count, 1);
          ASSERT_EQ(chunks.n, n);
          ASSERT_EQ(chunks.size % tile, 0u);
          std::size_t next = 0;
          for (int chunk = 0; chunk < chunks.count; ++chunk) {
            ASSERT_EQ(chunks.begin(chunk), next) << n << ", tile " << tile;
            ASSERT_GE(chunks.end(chunk), next);
            // No team may be started without work.
            ASSERT_TRUE(chunks.end(chunk) > next || n == 0) << n << ", tile " << tile << ", chunk " << chunk;
            next = chunks.end(chunk);
          }
          ASSERT_EQ(next, n) << "tile " << tile << ", " << lanes << " lanes";
          if constexpr (!is_gpu<Exec>) {
            ASSERT_LE(chunks.count, std::max(1, exec.concurrency() / lanes));
          }
        }
      }
    }
  });
}

TEST(TeamShape, GivesWhatIsAskedForOrSkips) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    Exec const exec;
    int const most = is_gpu<Exec> ? 512 : exec.concurrency();
    EXPECT_GE(kernels::team_size(exec, 0), 1);
    EXPECT_EQ(kernels::team_size(exec, 1), 1);
    EXPECT_EQ(kernels::team_size(exec, most), most);
    EXPECT_THROW((void)kernels::team_size(exec, most + 1), Skip);
    EXPECT_THROW((void)kernels::team_size(exec, std::int64_t{1} << 40), Skip);
  });
}

// Kernels whose teams wait for each other start one team per multiprocessor. With more teams, some would wait for a
// team that cannot start.
TEST(TeamShape, CountsMultiprocessors) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    Exec const exec;
    int const threads = exec.concurrency() / multiprocessors(exec);  // per multiprocessor
    EXPECT_EQ(threads * multiprocessors(exec), exec.concurrency()) << space_name<Exec>();
    if (is_gpu<Exec>) {
      EXPECT_GE(threads, 1024) << space_name<Exec>();
      EXPECT_LE(threads, 4096) << space_name<Exec>();
    } else {
      EXPECT_EQ(threads, 1) << space_name<Exec>();
    }
    EXPECT_EQ((kernels::HeldColumnTuning<Exec, float>::at_once(exec, 1)),
              static_cast<std::size_t>(multiprocessors(exec)));
  });
}

// HIP's compiler counts wavefronts where CUDA's counts teams. It must also be told the largest team size.
TEST(TeamShape, SaysLaunchBoundsInTheWordsOfTheCompiler) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    EXPECT_EQ((kernels::TeamBounds<Exec, 128, 4>::maxTperB), 128u);
    EXPECT_EQ((kernels::TeamBounds<Exec, 128, 4>::minBperSM), is_hip<Exec> ? 2u : 4u);
    EXPECT_EQ((kernels::TeamBounds<Exec, 32, 4>::minBperSM), is_hip<Exec> ? 1u : 4u);
    EXPECT_EQ(kernels::AnyTeamBounds<Exec>::maxTperB, is_hip<Exec> ? 512u : 0u);
  });
}

TEST(TeamShape, TilesFitIntoScratch) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    auto const most = static_cast<std::size_t>(Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0));
    for (std::size_t const bytes : {1, 4, 8, 24, 1000}) {
      int const tile = kernels::scratch_tile<Exec>(0, bytes, 100);
      EXPECT_GE(tile, 1);
      EXPECT_EQ(tile & (tile - 1), 0);
      EXPECT_LE(tile * bytes, most);
    }
    EXPECT_EQ(kernels::scratch_tile<Exec>(7, 4, 0), 7);
    EXPECT_THROW((void)kernels::scratch_tile<Exec>(static_cast<std::int64_t>(most), 4, 0), Skip);
    EXPECT_THROW((void)kernels::scratch_tile<Exec>(std::int64_t{1} << 62, 8, 0), Skip);
  });
}

// Each thread writes its part of the scratch, up to the last byte, and reads the part of another thread.
template <ExecutionSpace Exec>
struct FillsScratch {
  using Bounds = kernels::TeamBounds<Exec, 256, 2>;
  using Policy = Kokkos::TeamPolicy<Exec, Bounds>;
  using Member = typename Policy::member_type;
  using Words = ScratchView<int*, Exec>;
  static constexpr int vector_length = 1;
  int words;
  Kokkos::View<int*, typename Exec::memory_space> wrong;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Words const scratch(team.team_scratch(0), words);
    for (int i = team.team_rank(); i < words; i += team.team_size()) scratch(i) = team.league_rank() + i;
    team.team_barrier();
    int found = scratch.data() == nullptr || team.league_size() != wrong.extent_int(0) ? 1 : 0;
    for (int i = team.team_rank(); i < words; i += team.team_size()) {
      int const other = words - 1 - i;
      if (scratch(other) != team.league_rank() + other) ++found;
    }
    if (found != 0) Kokkos::atomic_add(&wrong(team.league_rank()), found);
    leave_scratch(team);
  }
};

TEST(LargeScratch, ReachesEveryTeam) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    using Kernel = FillsScratch<Exec>;
    using Launch = kernels::LargeScratchLaunch<Exec, Kernel>;
    Exec const exec = Kokkos::Experimental::partition_space(Exec(), 1)[0];
    int const threads = is_gpu<Exec> ? 256 : 1;
    // The launches of one kernel have different sizes. A team may have no more than 64 KB on CUDA, 32 KB elsewhere.
    int const fits = std::string(space_name<Exec>()) == "cuda" ? 14000 : 7000;
    std::vector<Launch> launches;
    std::vector<int> sizes;
    for (int const words : {5000, 100, 7000, 14000, 28000, 56000}) {
      try {
        launches.emplace_back(exec, threads, Kernel::Words::shmem_size(static_cast<std::size_t>(words)));
        sizes.push_back(words);
      } catch (Skip const& skip) {
        EXPECT_GT(words, fits) << words << " words: " << skip.what();
      }
    }
    for (int const league : {0, 1, 700}) {
      Kokkos::View<int*, typename Exec::memory_space> const wrong("wrong", static_cast<std::size_t>(league));
      for (std::size_t i = 0; i < launches.size(); ++i) {
        launches[i]("tessera::tests::large_scratch", exec, league, Kernel{sizes[i], wrong});
      }
      exec.fence();
      auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), wrong);
      for (int team = 0; team < league; ++team) EXPECT_EQ(found(static_cast<std::size_t>(team)), 0) << team;
    }
    EXPECT_THROW(Launch(exec, threads, std::size_t{1} << 30), Skip);
  });
}

TEST(TeamShape, CountsTiles) {
  EXPECT_EQ(tiles_of(0, 4), 0u);
  EXPECT_EQ(tiles_of(1, 4), 1u);
  EXPECT_EQ(tiles_of(4, 4), 1u);
  EXPECT_EQ(tiles_of(5, 4), 2u);
}

}  // namespace
}  // namespace tessera::test
