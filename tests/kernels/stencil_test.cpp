// Stencils that look ahead, on rows in registers and on tiles in scratch, for arrays and segments of every length.
// Nothing may be read past the array, and every barrier must be needed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "adversarial_league.hpp"
#include "guarded_array.hpp"

#include <tessera/kernels/stencil.hpp>

namespace tessera::test {
namespace {

// Records which elements it received, and how many it should receive.
template <int Reach>
struct Seen {
  static constexpr int reach = Reach;
  KOKKOS_FUNCTION std::int32_t operator()(std::int32_t const* window, int present) const {
    std::int32_t result = present < Reach + 1 ? present : Reach + 1;
    for (int k = 0; k <= Reach; ++k) result = 100 * result + (k < present ? window[k] : 0);
    return result;
  }
};

template <int Reach>
std::int32_t wanted(std::int32_t const* in, std::size_t i, std::size_t n, std::size_t segment) {
  std::size_t const end = segment == 0 ? n : std::min(n, (i / segment + 1) * segment);
  std::int32_t const present = static_cast<std::int32_t>(std::min<std::size_t>(Reach + 1, end - i));
  std::int32_t result = present;
  for (int k = 0; k <= Reach; ++k) result = 100 * result + (k < present ? in[i + static_cast<std::size_t>(k)] : 0);
  return result;
}

void fill(std::int32_t* in, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<std::int32_t>(10 + i * 37 % 89);
}

constexpr std::size_t segments[] = {0, 1, 2, 3, 4, 5, 7, 8, 13, 32, 1000};

TEST(Segments, ExampleOfTheHeader) {
  collective::Segments const of(8, 3);
  EXPECT_EQ(of.left(3), 3U);
  EXPECT_EQ(of.left(5), 1U);
  EXPECT_EQ(of.left(6), 2U);
  collective::SegmentedPart const part = of.part(4);
  EXPECT_EQ(part.count, 4);
  int const left[] = {2, 1, 3, 2};
  for (int offset = 0; offset < 4; ++offset) EXPECT_EQ(part.left_at(offset), left[offset]);
  EXPECT_TRUE(part.is_uncut(2));
  EXPECT_FALSE(part.is_uncut(3));
  EXPECT_TRUE(collective::Segments(8, 0).part(4).is_uncut(4));
  EXPECT_FALSE(collective::Segments(8, 0).part(4).is_uncut(5));
}

// If positions need more than 32 bits, only the end of the next segment counts.
TEST(Segments, OfMoreThan32Bits) {
  std::size_t const n = std::size_t{1} << 40;
  for (std::size_t const segment : {std::size_t{1} << 35, (std::size_t{1} << 35) - 7, (std::size_t{1} << 30) + 1}) {
    collective::SegmentedPart const part = collective::Segments(n, segment).part(2 * segment - 3);
    EXPECT_EQ(part.left_at(2), 1);
    EXPECT_GE(part.left_at(3), 1 << 29);
    EXPECT_TRUE(part.is_uncut(3));
    EXPECT_FALSE(part.is_uncut(4));
  }
  for (std::size_t const segment : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
    for (std::size_t i = n - 10; i < n; ++i) {
      EXPECT_EQ(collective::Segments(n, segment).left(i), std::min(segment - i % segment, n - i));
      EXPECT_EQ(collective::Segments(n, segment).part(i).left_at(0), static_cast<int>(segment - i % segment));
    }
  }
}

// A part of an array has the segments of the whole array, wherever it begins.
TEST(Segments, OfAPart) {
  std::size_t const n = 40;
  for (std::size_t const segment : {1, 2, 3, 7, 19, 20, 39, 40, 41, 1000}) {
    collective::Segments const whole(n, segment);
    for (std::size_t first = 0; first < n; ++first) {
      for (std::size_t end = first + 1; end <= n; ++end) {
        collective::Segments const part(end - first, segment, first);
        for (std::size_t i = first; i < end; ++i) {
          std::size_t const left = std::min(whole.left(i), end - i);
          EXPECT_EQ(part.left(i - first), left) << i << " of " << first << " to " << end << ", segments of " << segment;
          collective::SegmentedPart const from = part.part(i - first);
          EXPECT_EQ(std::min(from.left_at(0), from.count), static_cast<int>(left));
        }
      }
    }
  }
}

template <int Reach, int W, int RowCount, int N>
void expect_rows() {
  using L = lane::Emulated<W>;
  using Items = thread::Rows<std::int32_t, RowCount, N>;
  constexpr int size = RowCount * W * N;
  L const lanes;
  GuardedArray<std::int32_t> memory(3 * size);
  std::vector<std::int32_t> out(size);
  for (std::size_t n = 1; n <= 2 * size + Reach + 1; ++n) {
    std::int32_t* const in = memory.last(n);
    fill(in, n);
    for (std::size_t const segment : segments) {
      collective::Segments const of(n, segment);
      for (std::size_t begin = 0; begin < n; begin += 3) {
        collective::SegmentedPart const part = of.part(begin);
        typename L::template Value<Items> values;
        int const count = std::min(part.count, size);
        thread::load_rows(lanes, static_cast<std::int32_t const*>(in + begin), count, -1, values);
        thread::stencil_on_rows<Items>(lanes, Seen<Reach>{}, static_cast<std::int32_t const*>(in + begin), part,
                                       values);
        thread::store_rows(lanes, out.data(), count, values);
        for (int i = 0; i < count; ++i) {
          std::size_t const at = begin + static_cast<std::size_t>(i);
          ASSERT_EQ(out[static_cast<std::size_t>(i)], wanted<Reach>(in, at, n, segment))
              << "element " << at << " of " << n << ", begin " << begin << ", segments of " << segment;
        }
      }
    }
  }
}

TEST(ForwardStencil, OnRows) {
  expect_rows<1, 2, 2, 2>();
  expect_rows<2, 2, 2, 2>();
  expect_rows<2, 4, 1, 4>();
  expect_rows<3, 1, 3, 4>();
  expect_rows<1, 8, 2, 1>();
}

template <int N>
struct PacksOf {
  static constexpr int pack = N;
};

// Runs every team of the league, one after another in the same scratch, in every order of threads.
template <int Reach, int N>
void expect_tiles_in_any_order(int threads, int tile) {
  using Kernel = kernels::detail::ScratchStencilKernel<AdversarialSpace, std::int32_t, Seen<Reach>, PacksOf<N>>;
  AdversarialTeam team(threads);
  GuardedArray<std::int32_t> in_memory(256);
  GuardedArray<std::int32_t> out_memory(256);
  team::HaloTile<std::int32_t> const shape{.left = 0, .size = tile, .right = Reach};
  std::vector<std::int32_t> scratch(static_cast<std::size_t>(Kernel::places(shape) * N) + 64);
  for (std::size_t n = 1; n <= 3 * static_cast<std::size_t>(tile) + 2; ++n) {
    std::int32_t* const in = in_memory.last(n);
    fill(in, n);
    for (std::size_t const segment : segments) {
      for (Order const order : all_orders) {
        for (bool const streaming : {false, true}) {
          std::int32_t* const out = out_memory.first(n, 0);
          std::fill_n(out, n, -1);
          std::fill(scratch.begin(), scratch.end(), -2);
          Kernel const kernel{{}, in, out, collective::Segments(n, segment), shape, streaming};
          auto const problem = team.run(order, n, [&](AdversarialTeam::Member const& member) {
            for (int rank = 0; static_cast<std::size_t>(rank * tile) < n; ++rank) {
              kernel(LeagueMember(member, rank, scratch.data(), static_cast<int>(scratch.size() * 4)));
            }
          });
          ASSERT_EQ(problem, std::nullopt);
          ASSERT_TRUE(out_memory.untouched());
          for (std::size_t i = 0; i < n; ++i) {
            ASSERT_EQ(out[i], wanted<Reach>(in, i, n, segment))
                << "element " << i << " of " << n << ", tile " << tile << ", segments of " << segment << ", " << threads
                << " threads, " << name_of(order) << " order";
          }
        }
      }
    }
  }
}

TEST(ForwardStencil, OnTilesInAnyOrder) {
  for (int const threads : {1, 2, 3, 7}) {
    for (int const tile : {1, 3, 4, 8, 13}) {
      expect_tiles_in_any_order<1, 4>(threads, tile);
      expect_tiles_in_any_order<2, 8>(threads, tile);
    }
  }
}

}  // namespace
}  // namespace tessera::test
