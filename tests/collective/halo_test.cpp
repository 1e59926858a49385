// A tile with its halo in scratch: every tile of arrays of every length, at every alignment, including tiles before the
// array and after it. Nothing may be read outside the array or written outside the scratch.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tessera/collective/team/halo_tile.hpp>

#include "adversarial_team.hpp"
#include "guarded_array.hpp"

namespace tessera::test {
namespace {

constexpr int fill = -7;

// Returns element `position` of the array, or the fill value outside the array.
int wanted(std::ptrdiff_t position, std::size_t n) {
  return position >= 0 && position < static_cast<std::ptrdiff_t>(n) ? 1000 + static_cast<int>(position) : fill;
}

// Loads the tile at `begin` and lets every thread read elements loaded by others. Then loads the next tile into the
// same scratch, so that a thread that still reads the first tile sees a difference.
std::optional<std::string> try_tile(AdversarialTeam& team, Order order, team::HaloTile<int> const& shape,
                                    int const* data, std::size_t n, std::ptrdiff_t begin) {
  static GuardedArray<int> memory(4096);
  int* const scratch = memory.first(static_cast<std::size_t>(shape.places()));
  int const length = shape.left + shape.size + shape.right;
  std::optional<std::string> wrong;
  auto const problem = team.run(order, 1, [&](AdversarialTeam::Member const& member) {
    for (std::ptrdiff_t const at : {begin, begin + shape.size}) {
      int const* const tile = shape.load(member, data, n, static_cast<std::size_t>(at), fill, scratch);
      member.team_barrier();
      for (int i = member.team_rank(); i < length; i += member.team_size()) {
        int const offset = length - 1 - i - shape.left;  // mirrored: an element loaded by another thread
        if (tile[offset] != wanted(at + offset, n)) {
          wrong = "left " + std::to_string(shape.left) + " size " + std::to_string(shape.size) + " right " +
                  std::to_string(shape.right) + " n " + std::to_string(n) + " begin " + std::to_string(at) + ": [" +
                  std::to_string(offset) + "] is " + std::to_string(tile[offset]) + ", not " +
                  std::to_string(wanted(at + offset, n)) + ", " + name_of(order);
        }
      }
      member.team_barrier();
    }
  });
  if (problem) return problem;
  if (!memory.untouched()) return "written outside of the scratch";
  return wrong;
}

TEST(HaloTile, LoadsEveryTileWithItsHalo) {
  GuardedArray<int> array(64);
  for (int const threads : {1, 3, 8}) {
    AdversarialTeam team(threads);
    for (team::HaloTile<int> const shape :
         {team::HaloTile<int>{2, 4, 1}, {0, 8, 0}, {0, 8, 3}, {7, 8, 0}, {5, 3, 2}, {9, 4, 9}, {1, 1, 1}, {4, 16, 4}}) {
      for (std::size_t const n : {0, 1, 3, 4, 5, 7, 8, 15, 16, 17, 33}) {
        for (int const placement : {-1, 0, 1, 2}) {
          int* const data = placement < 0 ? array.last(n) : array.first(n, static_cast<std::size_t>(placement));
          for (std::size_t i = 0; i < n; ++i) data[i] = wanted(static_cast<std::ptrdiff_t>(i), n);
          // From a tile that ends before the array to a tile that begins after it, aligned and unaligned.
          for (std::ptrdiff_t begin = -3 * shape.size; begin <= static_cast<std::ptrdiff_t>(n) + 1; ++begin) {
            Order const order = all_orders[static_cast<std::size_t>(begin + 3 * shape.size) % 4];
            ASSERT_EQ(try_tile(team, order, shape, data, n, begin), std::nullopt);
          }
        }
      }
    }
  }
}

// The example in the header, and the alignment that packs require.
TEST(HaloTile, ExampleOfTheHeader) {
  constexpr team::HaloTile<int> shape{.left = 2, .size = 4, .right = 1};
  static_assert(shape.origin() == 4 && shape.places() == 9);
  std::vector<int> const data{0, 1, 2, 3, 4, 5, 6};
  std::vector<int> scratch(static_cast<std::size_t>(shape.places()));
  AdversarialTeam team(2);
  int const* tile = nullptr;
  ASSERT_EQ(team.run(Order::descending, 1,
                     [&](AdversarialTeam::Member const& member) {
                       tile = shape.load(member, data.data(), data.size(), 4, -1, scratch.data());
                     }),
            std::nullopt);
  EXPECT_EQ((std::vector<int>(tile - 2, tile + 5)), (std::vector<int>{2, 3, 4, 5, 6, -1, -1}));
}

}  // namespace
}  // namespace tessera::test
