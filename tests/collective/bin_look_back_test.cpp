// Look-back over counts of bins: words of other launches, gaps, any number of words at a time.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tessera/collective/bin_look_back.hpp>

namespace tessera::test {
namespace {

using collective::TileState;

constexpr std::uint32_t tiles = 20;
constexpr int bins = 3;
constexpr int bin = 1;

[[nodiscard]] std::uint32_t count_of(std::uint32_t tile) { return 3 + tile * tile; }
[[nodiscard]] std::uint32_t count_upto(std::uint32_t tile) {
  std::uint32_t sum = 0;
  for (std::uint32_t t = 0; t <= tile; ++t) sum += count_of(t);
  return sum;
}

// All tiles have published all that they know in the launch before, other counts.
struct Memory {
  std::vector<std::uint32_t> words = std::vector<std::uint32_t>(std::size_t{tiles} * bins);
  std::uint32_t counter = 0;

  Memory() {
    for (std::uint32_t tile = 0; tile < tiles; ++tile) {
      for (int other = 0; other < bins; ++other) handle(6).publish(tile, other, TileState::inclusive, 77);
    }
  }
  [[nodiscard]] collective::BinLookBackHandle handle(std::uint32_t epoch) {
    return {words.data(), &counter, 0, epoch, bins, 20};
  }
};

template <int Words>
void expect_sum_upto_the_nearest_inclusive_tile() {
  for (std::uint32_t tile = 1; tile <= tiles; ++tile) {
    for (std::uint32_t nearest = 0; nearest < tile; ++nearest) {
      Memory memory;
      auto const handle = memory.handle(7);
      handle.publish(nearest, bin, TileState::inclusive, count_upto(nearest));
      for (std::uint32_t t = nearest + 1; t < tile; ++t) handle.publish(t, bin, TileState::partial, count_of(t));
      EXPECT_EQ(handle.before<Words>(tile, bin), count_upto(tile - 1)) << Words << " words, " << tile << " " << nearest;
    }
  }
  EXPECT_EQ(Memory().handle(7).before<Words>(0, bin), 0U);
}

// A tile that has not published yet, between tiles that have: the reader waits for it.
template <int Words>
void expect_to_wait_for_a_gap(TileState earlier) {
  for (std::uint32_t const gap : {tiles - 1, tiles - 2, tiles - 3, tiles - 8, tiles - 9, 1U}) {
    Memory memory;
    auto const handle = memory.handle(7);
    handle.publish(0, bin, TileState::inclusive, count_of(0));
    for (std::uint32_t t = 1; t < tiles; ++t) {
      TileState const state = t < gap ? earlier : TileState::partial;
      if (t != gap) handle.publish(t, bin, state, state == TileState::partial ? count_of(t) : count_upto(t));
    }
    std::thread late([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      handle.publish(gap, bin, TileState::partial, count_of(gap));
    });
    std::uint32_t const found = handle.before<Words>(tiles, bin);
    late.join();
    EXPECT_EQ(found, count_upto(tiles - 1)) << Words << " words, gap " << gap;
  }
}

template <int Words>
void expect_right_sums() {
  expect_sum_upto_the_nearest_inclusive_tile<Words>();
  expect_to_wait_for_a_gap<Words>(TileState::inclusive);
  expect_to_wait_for_a_gap<Words>(TileState::partial);
}
TEST(BinLookBack, AnyNumberOfWordsAtATime) {
  expect_right_sums<1>();
  expect_right_sums<3>();
  expect_right_sums<8>();
  expect_right_sums<32>();  // more than there are tiles
}

}  // namespace
}  // namespace tessera::test
