// Collectives of one thread's lanes, with operators that reveal a wrong order.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <tessera/collective/operators.hpp>
#include <tessera/collective/pairwise.hpp>
#include <tessera/collective/prefetch.hpp>
#include <tessera/collective/thread/piece_sum.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/collective/thread/scan.hpp>
#include <tessera/kernels/histogram.hpp>

#include "guarded_array.hpp"
#include "lane_checks.hpp"
#include "operators_for_tests.hpp"

namespace tessera::test {
namespace {

template <class Op>
struct ScanAndReduce {
  using T = typename Op::Value;

  template <class L>
  KOKKOS_FUNCTION void operator()(LaneChecker<L>& checker, std::uint64_t seed) const {
    L const& lanes = checker.lanes();
    Op const op;
    for (std::uint64_t repeat = 0; repeat < 4; ++repeat) {
      auto const value = [&](int lane) { return Op::sample(random_bits((seed * 4 + repeat) * 1000 + lane)); };
      // Combines values [0, end) from left to right.
      auto const before = [&](int end) {
        T result = op.identity();
        for (int lane = 0; lane < end; ++lane) result = op(result, value(lane));
        return result;
      };
      auto own = lanes.template fill<T>(op.identity());
      lanes.each([&](int lane, T& mine) { mine = value(lane); }, own);

      checker.template is<T>(thread::reduce<T>(lanes, own, op), before(L::width));
      checker.template holds<T>(own, value);  // passed by value

      auto scanned = own;
      thread::inclusive_scan(lanes, scanned, op);
      checker.template holds<T>(scanned, [&](int lane) { return before(lane + 1); });

      auto const exclusive = thread::exclusive_from_inclusive(lanes, scanned, op.identity());
      checker.template holds<T>(exclusive, before);
      // The first value need not be the identity.
      T const first = Op::sample(random_bits(seed));
      auto const from_first = thread::exclusive_from_inclusive(lanes, scanned, first);
      checker.template holds<T>(from_first, [&](int lane) { return lane == 0 ? first : before(lane); });
    }
  }
};

// The examples in the headers: W = 4, sum, values 3 1 4 1.
struct Documented {
  template <class L>
  KOKKOS_FUNCTION void operator()(LaneChecker<L>& checker, std::uint64_t) const {
    L const& lanes = checker.lanes();
    collective::Sum<int> const sum;
    auto value = lanes.template fill<int>(1);
    lanes.each([](int lane, int& own) { own = lane == 0 ? 3 : lane == 2 ? 4 : 1; }, value);
    checker.template is<int>(thread::reduce<int>(lanes, value, sum), 9);
    thread::inclusive_scan(lanes, value, sum);
    checker.template holds<int>(value, [](int lane) { return lane == 0 ? 3 : lane == 1 ? 4 : lane == 2 ? 8 : 9; });
    checker.template holds<int>(thread::exclusive_from_inclusive(lanes, value, 0), [](int lane) {
      return lane == 0 ? 0 : lane == 1 ? 3 : lane == 2 ? 4 : 8;
    });
  }
};

// Counters of both widths; whole, short and unaligned parts.
TEST(ThreadCollectives, CountersOfLanes) {
  auto const expect_counts = []<class Counter>(Counter) {
    constexpr int width = 4;
    using Lanes = lane::Emulated<width>;
    using Counters = kernels::detail::LaneCounters<Lanes, Counter>;
    Lanes const lanes;
    constexpr int part = 3 * width * 2;
    alignas(16) int elements[part + 2] = {};
    for (int i = 0; i < part + 2; ++i) elements[i] = i * i % 5;
    for (int const size : {1, 3, 4, 5, 9}) {
      for (int const shift : {0, 1}) {
        for (int count = 0; count <= part; ++count) {
          std::vector<std::uint32_t> words(static_cast<std::size_t>(Counters::words_for(size)), 77);
          Counters const counters{words.data(), size};
          std::vector<int> expected(static_cast<std::size_t>(size)), found(static_cast<std::size_t>(size));
          counters.set_to_zero(lanes);
          // Runs twice with a flush in between: flushed counts must not appear again.
          for (int round = 0; round < 2; ++round) {
            kernels::detail::for_each_element<3, 2>(lanes, elements + shift, count,
                                                    [&]<int N>(int lane, int const(&x)[N]) {
                                                      for (int k = 0; k < N; ++k) counters.add_one(lane, x[k] % size);
                                                    });
            for (int i = 0; i < count; ++i) ++expected[static_cast<std::size_t>(elements[i + shift] % size)];
            counters.flush(lanes, [&](int index, std::uint32_t sum) {
              found.at(static_cast<std::size_t>(index)) += static_cast<int>(sum);
            });
          }
          ASSERT_EQ(found, expected) << size << " counters, " << count << " elements from " << shift;
        }
      }
    }
  };
  expect_counts(std::uint8_t{});
  expect_counts(std::uint32_t{});
}

template <class Op>
void expect_scans_and_reductions() {
  for_each_width([]<int W>() { EXPECT_EQ(check_everywhere<W>(ScanAndReduce<Op>{}), std::nullopt); });
}

TEST(ThreadCollectives, DocumentedExample) { EXPECT_EQ(check_everywhere<4>(Documented{}), std::nullopt); }

TEST(ThreadCollectives, FourBytes) { expect_scans_and_reductions<Compose<std::uint16_t>>(); }
TEST(ThreadCollectives, EightBytes) { expect_scans_and_reductions<Compose<std::uint32_t>>(); }
TEST(ThreadCollectives, SixteenBytes) { expect_scans_and_reductions<Multiply>(); }
TEST(ThreadCollectives, LastNonZero) { expect_scans_and_reductions<LastNonZero>(); }
TEST(ThreadCollectives, SegmentedSum) { expect_scans_and_reductions<SegmentedSum>(); }

// ---- Prefetch by lanes: each line once, and nothing past the end.

template <class T>
void expect_lines(std::size_t count, int lanes) {
  std::size_t const line = std::max<std::size_t>(1, 128 / sizeof(T));
  std::vector<int> asked((count + line - 1) / line);
  for (int lane = 0; lane < lanes; ++lane) {
    collective::each_line<T>(count, lane, lanes, [&](std::size_t i) {
      ASSERT_LT(i, count);
      ASSERT_EQ(i % line, 0u);
      ++asked[i / line];
    });
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    EXPECT_EQ(asked[i], 1) << "line " << i << " of " << count << " elements of " << sizeof(T) << " bytes, " << lanes
                           << " lanes";
  }
}

TEST(Prefetch, EachLineOnce) {
  struct Large {
    char bytes[300];
  };
  for (std::size_t const count : {0, 1, 31, 32, 33, 127, 128, 600, 4096, 5000}) {
    for (int const lanes : {1, 4, 32, 256}) {
      expect_lines<char>(count, lanes);
      expect_lines<float>(count, lanes);
      expect_lines<double>(count, lanes);
      expect_lines<Large>(count, lanes);
    }
  }
}

TEST(Prefetch, DocumentedExample) {
  std::vector<std::size_t> of_lane[4];
  for (int lane = 0; lane < 4; ++lane) {
    collective::each_line<float>(600, lane, 4, [&](std::size_t i) { of_lane[lane].push_back(i); });
  }
  EXPECT_EQ(of_lane[0], (std::vector<std::size_t>{0, 128, 256, 384, 512}));
  EXPECT_EQ(of_lane[3], (std::vector<std::size_t>{96, 224, 352, 480}));
}

TEST(AddPairwise, DocumentedExample) {
  int packs[8][1] = {{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}};
  int to[1] = {100};
  collective::add_pairwise(packs, to);
  EXPECT_EQ(to[0], 136);
}
TEST(AddPairwise, AddsEveryPackOnce) {
  int packs[7][3];  // the number is no power of two
  int to[3] = {};
  for (int k = 0; k < 7; ++k) {
    for (int e = 0; e < 3; ++e) packs[k][e] = 1 << (3 * k + e);
  }
  collective::add_pairwise(packs, to);
  for (int e = 0; e < 3; ++e) EXPECT_EQ(to[e], 0111111 << (e + 3) | 1 << e) << e;
}

// Pieces of every length and alignment, which end at a guard page, processed by several threads. Each element must
// enter the sum exactly once.
template <class T, int W, int InFlight>
void expect_piece_sums() {
  using L = lane::Emulated<W>;
  using Piece = thread::PieceSum<T, L, InFlight>;
  using Sum = typename Piece::Sum;
  std::size_t const most = 2 * Piece::part + Piece::line + 3;
  GuardedArray<T> memory(most);
  for (int const threads : {1, 3}) {
    for (std::size_t count = 0; count <= most; count += count < 2 * Piece::line ? 1 : 5) {
      T* const piece = memory.last(count);
      Sum expected = 0;
      for (std::size_t i = 0; i < count; ++i) {
        piece[i] = static_cast<T>(random_bits(i) % 64 + 1);
        expected += static_cast<Sum>(piece[i]);
      }
      Sum sum = 0;
      for (int thread = 0; thread < threads; ++thread) sum += Piece{L{}, thread, threads}(piece, count);
      ASSERT_EQ(sum, expected) << count << " elements, " << W << " lanes, " << InFlight << " packs, " << threads
                               << " threads";
    }
  }
}
TEST(PieceSum, OfEveryLength) {
  expect_piece_sums<float, 2, 4>();
  expect_piece_sums<float, 8, 8>();
  expect_piece_sums<float, 32, 8>();
  expect_piece_sums<double, 8, 4>();
  expect_piece_sums<std::uint8_t, 8, 2>();  // more elements before a boundary than lanes
}
TEST(PieceSum, DocumentedExample) {
  alignas(16) float data[24];
  for (int i = 0; i < 24; ++i) data[i] = static_cast<float>(i);  // 1 2 3 lie before the boundary at 4
  using Piece = thread::PieceSum<float, lane::Emulated<2>, 2>;
  lane::Emulated<2> const lanes;
  EXPECT_EQ((Piece{lanes, 0, 2}(data + 3, 21)), (4.0F + 19) * 16 / 2);
  EXPECT_EQ((Piece{lanes, 1, 2}(data + 3, 21)), 3.0F + 20 + 21 + 22 + 23);
}

}  // namespace
}  // namespace tessera::test
