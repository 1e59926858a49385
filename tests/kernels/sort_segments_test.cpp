// The kernels that sort segments, with teams in every order of their threads, one after another in one scratch between
// guard pages.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

// Must precede the kernels, which call the Kokkos functions that are declared by then.
#include "adversarial_league.hpp"

#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/sort_segments.hpp>

#include "guarded_array.hpp"

namespace tessera::test {
namespace {

template <int of_chunk, int of_tile>
struct TinyTiles {
  static constexpr int chunk = of_chunk;
  static constexpr int chunks = of_tile;
};

template <class Tuning>
class WorstSegmentOrders {
  using Key = float;
  using Value = std::uint32_t;
  using Kernels = kernels::detail::SortSegmentsKernels<AdversarialSpace, Key, Value, Tuning>;

 public:
  WorstSegmentOrders(int threads, std::vector<std::int64_t> offsets)
      : threads_(threads),
        offsets_(std::move(offsets)),
        n_(static_cast<std::size_t>(offsets_.back())),
        team_(threads),
        keys_(n_),
        values_(n_),
        sorted_(n_ + 1),
        moved_(n_ + 1) {
    for (std::size_t i = 0; i < n_; ++i) keys_[i] = static_cast<Key>(i * 7919 % 31);  // with equal ones
    std::iota(values_.begin(), values_.end(), Value(0));
  }

  void sort() {
    std::size_t const tiles = tiles_of(n_, Kernels::tile);
    std::vector<typename Kernels::OfTiles> crossing(tiles + 1);
    std::vector<std::int64_t> first(tiles + 1);
    std::vector<Key> spare(n_);
    std::vector<Value> spare_values(n_);
    std::vector<Value> places(n_);
    std::iota(places.begin(), places.end(), Value(0));
    for (std::size_t r = 0; r + 1 < offsets_.size(); ++r) {
      std::stable_sort(places.begin() + offsets_[r], places.begin() + offsets_[r + 1],
                       [&](Value a, Value b) { return keys_[a] < keys_[b]; });
    }
    for (Order const order : all_orders) {
      std::string const about = std::to_string(n_) + " keys, " + std::to_string(offsets_.size() - 1) + " segments, " +
                                std::to_string(threads_) + " threads, " + name_of(order);
      std::fill(spare.begin(), spare.end(), -1.0F);
      Key* const sorted = sorted_.last(n_);
      Value* const moved = moved_.last(n_);
      Kernels kernels{{collective::KeyOrder<Key>(false)},
                      keys_.data(),
                      values_.data(),
                      offsets_.data(),
                      {sorted, moved},
                      {spare.data(), spare_values.data()},
                      crossing.data(),
                      first.data(),
                      static_cast<std::int64_t>(n_),
                      static_cast<std::int64_t>(offsets_.size()) - 1,
                      0};
      for (std::size_t t = 0; t <= tiles; ++t) kernels(typename Kernels::BordersTag{}, t);
      run(order, tiles, [&](LeagueMember const& team) { kernels(typename Kernels::TilesTag{}, team); });
      for (; (std::size_t{1} << kernels.pass) < tiles; ++kernels.pass) {
        run(order, tiles, [&](LeagueMember const& team) { kernels(typename Kernels::MergeTag{}, team); });
      }
      for (std::size_t i = 0; i < n_; ++i) {
        ASSERT_EQ(moved[i], places[i]) << about << ", at " << i;
        ASSERT_EQ(sorted[i], keys_[places[i]]) << about << ", at " << i;
      }
      EXPECT_TRUE(sorted_.untouched() && moved_.untouched()) << about;
    }
  }

 private:
  template <class Kernel>
  void run(Order order, std::size_t teams, Kernel const& kernel) {
    std::size_t const bytes = tiles_of(Kernels::scratch_bytes(), 16) * 16;
    GuardedArray<char> memory(bytes + 16);
    char* const scratch = order == Order::descending ? memory.first(bytes) : memory.last(bytes);
    std::fill_n(scratch, bytes, static_cast<char>(-1));
    auto const error = team_.run(order, 1, [&](AdversarialTeam::Member const& member) {
      for (std::size_t rank = 0; rank < teams; ++rank) {
        kernel(LeagueMember(member, static_cast<int>(rank), scratch, static_cast<int>(bytes)));
      }
    });
    EXPECT_EQ(error.value_or(""), "");
    EXPECT_TRUE(memory.untouched());
  }

  int threads_;
  std::vector<std::int64_t> offsets_;
  std::size_t n_;
  AdversarialTeam team_;
  std::vector<Key> keys_;
  std::vector<Value> values_;
  GuardedArray<Key> sorted_;
  GuardedArray<Value> moved_;
};

// Segments of these lengths, again and again, up to n keys.
[[nodiscard]] std::vector<std::int64_t> offsets_of(std::vector<std::int64_t> const& lengths, std::int64_t n) {
  std::vector<std::int64_t> offsets{0};
  for (std::size_t r = 0; offsets.back() < n; ++r) {
    offsets.push_back(std::min(n, offsets.back() + lengths[r % lengths.size()]));
  }
  return offsets;
}

template <class Tuning>
void expect_sorted_in_any_order() {
  constexpr std::int64_t tile = Tuning::chunk * Tuning::chunks;
  for (int const threads : {1, 2, 3, 5}) {
    for (std::vector<std::int64_t> const& lengths : {std::vector<std::int64_t>{1},
                                                     {tile},
                                                     {tile - 1, 1},
                                                     {tile + 1, 0, 0, 2},
                                                     {3, 0, 5, 1, 17},
                                                     {5 * tile},
                                                     {1000}}) {
      for (std::int64_t const n : {std::int64_t{1}, tile - 1, tile, 7 * tile + 5}) {
        if (n > 0) WorstSegmentOrders<Tuning>(threads, offsets_of(lengths, n)).sort();
      }
    }
  }
}

TEST(SortSegmentsKernels, InOneScratchInAnyOrder) {
  expect_sorted_in_any_order<TinyTiles<1, 1>>();
  expect_sorted_in_any_order<TinyTiles<2, 4>>();
  expect_sorted_in_any_order<TinyTiles<3, 5>>();
  expect_sorted_in_any_order<TinyTiles<7, 11>>();
}

}  // namespace
}  // namespace tessera::test
