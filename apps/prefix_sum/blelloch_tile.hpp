#pragma once
/// \file
/// Blelloch's scan as a team's scan of one tile (kernels/two_level_scan.hpp), for `blelloch` and `blelloch_padded`.

#include <array>
#include <cmath>

#include <tessera/collective/team/blelloch.hpp>
#include <tessera/kernels/two_level_scan.hpp>

namespace tessera::prefix_sum {

struct BlellochTile : kernels::TileScanInScratch {
  /// Lengths in scratch: the tree's leaves (a power of two, less than twice the tile), and the total.
  [[nodiscard]] static std::array<int, 1> scratch(int tile, int) { return {team::blelloch_leaves(tile) + 1}; }
  /// Counts the way up and down the tree.
  [[nodiscard]] static double rounding_steps(int tile, int) { return 2 * std::ceil(std::log2(tile)); }

  template <class Member, class Values, class Op>
  [[nodiscard]] KOKKOS_FUNCTION static kernels::ScannedTile<Values> run(Member const& team, Values const& tile, int n,
                                                                        Op const& op) {
    auto const total = team::blelloch(team, tile, n, op);
    return {tile, false, total};
  }
};

}  // namespace tessera::prefix_sum
