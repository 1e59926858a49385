// The kernels that sort segments, with teams in every order of their threads, one after another in one scratch between
// guard pages.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
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

template <int of_lanes, int of_items, int of_tile, int whole>
struct TinyTiles {
  static constexpr int lanes = of_lanes;
  static constexpr int items = of_items;
  static constexpr int tile = of_tile;
  static constexpr int longest_whole = whole;
  static constexpr int chunk = 3;
  static constexpr int rows = 2;
  static constexpr int in_flight = 3;
};

template <class Tuning, class Key, class Value>
class WorstSegmentOrders {
  static constexpr bool has_values = kernels::value_bytes<Value> > 0;
  using Place = std::uint32_t;
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
    if constexpr (has_values) std::iota(values_.begin(), values_.end(), Value(0));
  }

  void sort() {
    std::size_t const tiles = tiles_of(n_, Kernels::tile);
    std::vector<typename Kernels::Border> borders(tiles + 1);
    std::vector<Key> spare(n_);
    std::vector<Value> spare_values(n_);
    std::vector<Place> places(n_);
    std::iota(places.begin(), places.end(), Place(0));
    for (std::size_t r = 0; r + 1 < offsets_.size(); ++r) {
      std::stable_sort(places.begin() + offsets_[r], places.begin() + offsets_[r + 1],
                       [&](Place a, Place b) { return keys_[a] < keys_[b]; });
    }
    for (Order const order : all_orders) {
      std::string const about = std::to_string(n_) + " keys, " + std::to_string(offsets_.size() - 1) + " segments, " +
                                std::to_string(threads_) + " threads, " + name_of(order);
      std::fill(spare.begin(), spare.end(), Key(-1));
      Key* const sorted = sorted_.last(n_);
      Value* const moved = moved_.last(n_);
      std::uint32_t progress[3] = {0, 0, 0};
      Kernels kernels{collective::KeyOrder<Key>(false),
                      keys_.data(),
                      values_.data(),
                      offsets_.data(),
                      {sorted, moved},
                      {spare.data(), spare_values.data()},
                      borders.data(),
                      progress,
                      static_cast<std::int64_t>(n_),
                      static_cast<std::int64_t>(offsets_.size()) - 1,
                      static_cast<int>(tiles),
                      static_cast<int>((tiles + 1) / 2)};
      for (std::size_t t = 0; t <= tiles; ++t) kernels(typename Kernels::BordersTag{}, t);
      run(order, tiles, [&](LeagueMember const& team) { kernels(typename Kernels::TilesTag{}, team); });
      std::size_t enqueued = 1;  // teams for one pass more than any segment needs
      for (std::size_t runs = 1; runs < tiles; runs *= 2) ++enqueued;
      // Once all teams have said that the last pass is over, all keys must be there: other teams would read them.
      std::uint32_t const turns = passes() * static_cast<std::uint32_t>(kernels.teams);
      bool is_over = turns == 0;
      run(
          order, (tiles + 1) / 2 * enqueued,
          [&](LeagueMember const& team) { kernels(typename Kernels::MergeTag{}, team); },
          [&] {
            if (is_over || progress[2] < turns) return;
            is_over = true;
            for (std::size_t i = 0; i < n_; ++i) ASSERT_EQ(sorted[i], keys_[places[i]]) << about << ", early at " << i;
          });
      EXPECT_TRUE(is_over) << about;
      EXPECT_EQ(progress[0], passes()) << about;
      for (std::size_t i = 0; i < n_; ++i) {
        if constexpr (has_values) {
          ASSERT_EQ(moved[i], places[i]) << about << ", at " << i;
        }
        ASSERT_EQ(sorted[i], keys_[places[i]]) << about << ", at " << i;
      }
      EXPECT_TRUE(sorted_.untouched() && moved_.untouched()) << about;
    }
  }

 private:
  // Of the segment in most tiles, if it is longer than those that a tile has as a whole.
  [[nodiscard]] std::uint32_t passes() const {
    std::uint32_t most = 0;
    for (std::size_t r = 0; r + 1 < offsets_.size(); ++r) {
      if (offsets_[r + 1] - offsets_[r] <= Tuning::longest_whole) continue;
      auto const more = static_cast<std::uint64_t>((offsets_[r + 1] - 1) / Tuning::tile - offsets_[r] / Tuning::tile);
      most = std::max(most, static_cast<std::uint32_t>(std::bit_width(more)));
    }
    return most;
  }

  template <class Kernel>
  void run(Order order, std::size_t teams, Kernel const& kernel, std::function<void()> const& watch = [] {}) {
    std::size_t const bytes = tiles_of(Kernels::scratch_bytes(threads_), 16) * 16;
    GuardedArray<char> memory(bytes + 16);
    char* const scratch = order == Order::descending ? memory.first(bytes) : memory.last(bytes);
    std::fill_n(scratch, bytes, static_cast<char>(-1));
    auto const error = team_.run(order, 1, [&](AdversarialTeam::Member const& member) {
      for (std::size_t rank = 0; rank < teams; ++rank) {
        kernel(LeagueMember(member, static_cast<int>(rank), scratch, static_cast<int>(bytes), static_cast<int>(teams),
                            &watch));
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

template <class Tuning, class Key = float, class Value = std::uint32_t>
void expect_sorted_in_any_order() {
  constexpr std::int64_t tile = Tuning::tile;
  for (int const threads : {1, 2, 3, 5}) {
    for (std::vector<std::int64_t> const& lengths : {std::vector<std::int64_t>{1},
                                                     {tile},
                                                     {tile - 1, 1},
                                                     {tile + 1, 0, 0, 2},
                                                     {3, 0, 5, 1, 17},
                                                     {2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4},
                                                     {Tuning::longest_whole, Tuning::longest_whole + 1},
                                                     {5 * tile},
                                                     {1000}}) {
      for (std::int64_t const n : {std::int64_t{1}, tile - 1, tile, 7 * tile + 5}) {
        if (n > 0) {
          WorstSegmentOrders<Tuning, Key, Value>(threads, offsets_of(lengths, n)).sort();
        }
      }
    }
  }
}

TEST(SortSegmentsKernels, InOneScratchInAnyOrder) {
  expect_sorted_in_any_order<TinyTiles<1, 1, 1, 1>>();
  expect_sorted_in_any_order<TinyTiles<1, 2, 8, 0>>();
  expect_sorted_in_any_order<TinyTiles<1, 8, 15, 40>>();  // a whole segment may have more keys than a tile
  expect_sorted_in_any_order<TinyTiles<4, 1, 15, 4>>();
  expect_sorted_in_any_order<TinyTiles<4, 8, 77, 20>>();
  expect_sorted_in_any_order<TinyTiles<32, 2, 77, 30>>();
  expect_sorted_in_any_order<TinyTiles<4, 8, 77, 20>, std::int64_t>();
  expect_sorted_in_any_order<TinyTiles<4, 8, 77, 20>, float, kernels::NoValue>();
  expect_sorted_in_any_order<TinyTiles<4, 4, 33, 20>, std::int32_t, kernels::NoValue>();
}

}  // namespace
}  // namespace tessera::test
