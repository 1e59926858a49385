#pragma once
/// \file
/// How n things in a row lie on several ranks: in blocks, one a rank, in the ranks' order.

#include <cstddef>

namespace tessera::ranks {

/// A contiguous range [begin, end) of indices.
struct Block {
  std::size_t begin;
  std::size_t end;
  [[nodiscard]] constexpr std::size_t size() const { return end - begin; }
  friend constexpr bool operator==(Block const&, Block const&) = default;
};

/// The block of `rank`, of `count` ranks. Blocks differ by one in size, the larger ones first; with fewer things than ranks
/// the last ones are empty.
///
/// Example, 10 things on 4 ranks: [0, 3) [3, 6) [6, 8) [8, 10).
[[nodiscard]] constexpr Block block_of(std::size_t n, int count, int rank) {
  auto const ranks = static_cast<std::size_t>(count);
  auto const own = static_cast<std::size_t>(rank);
  std::size_t const less = n / ranks;
  std::size_t const larger = n % ranks;
  std::size_t const begin = own * less + (own < larger ? own : larger);
  return {begin, begin + less + (own < larger ? 1 : 0)};
}

/// The rank that has index i of n: i < n.
[[nodiscard]] constexpr int owner_of(std::size_t i, std::size_t n, int count) {
  auto const ranks = static_cast<std::size_t>(count);
  std::size_t const less = n / ranks;
  std::size_t const larger = n % ranks;
  std::size_t const in_larger = larger * (less + 1);
  return static_cast<int>(i < in_larger ? i / (less + 1) : larger + (i - in_larger) / less);
}

}  // namespace tessera::ranks
