#pragma once
/// \file
/// The distribution of n consecutive items over ranks: one block per rank, in the order of the ranks.

#include <algorithm>
#include <cstddef>

namespace tessera::ranks {

/// A contiguous range [begin, end) of indices.
struct Block {
  std::size_t begin;
  std::size_t end;
  [[nodiscard]] constexpr std::size_t size() const { return end - begin; }
  friend constexpr bool operator==(Block const&, Block const&) = default;
};

/// Returns the indices that both ranges have. If there are none, the result is an empty range within `a` or at its end.
[[nodiscard]] constexpr Block common(Block a, Block b) {
  std::size_t const begin = std::clamp(b.begin, a.begin, a.end);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// Returns the block of `rank` of `count` ranks. Block sizes differ by at most one, the larger blocks first. If there
/// are fewer items than ranks, the last blocks are empty.
///
/// Example, 10 items on 4 ranks: [0, 3) [3, 6) [6, 8) [8, 10).
[[nodiscard]] constexpr Block block_of(std::size_t n, int count, int rank) {
  auto const ranks = static_cast<std::size_t>(count);
  auto const own = static_cast<std::size_t>(rank);
  std::size_t const less = n / ranks;
  std::size_t const larger = n % ranks;
  std::size_t const begin = own * less + (own < larger ? own : larger);
  return {begin, begin + less + (own < larger ? 1 : 0)};
}

/// Returns the rank that has index i of n. Requires i < n.
[[nodiscard]] constexpr int owner_of(std::size_t i, std::size_t n, int count) {
  auto const ranks = static_cast<std::size_t>(count);
  std::size_t const less = n / ranks;
  std::size_t const larger = n % ranks;
  std::size_t const in_larger = larger * (less + 1);
  return static_cast<int>(i < in_larger ? i / (less + 1) : larger + (i - in_larger) / less);
}

}  // namespace tessera::ranks
