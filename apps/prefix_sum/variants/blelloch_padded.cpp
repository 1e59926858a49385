/// \file
/// `blelloch` with its indices padded against bank conflicts: value i of the tree lies at place i + i / row; `row` is
/// the number of values in a row of a GPU's 32 banks (collective/team/bank_padded.hpp). Near the leaves a level's
/// values are 2, 4, ... 32 apart. Without padding a warp's threads share half of the banks, a quarter, ... one bank.
/// With padding each thread has its own bank.
///
/// All accesses to a tile use the padded index: kernels/two_level_scan.hpp fills and stores the tile, and
/// collective/team/blelloch.hpp makes the two sweeps.
///
/// Example, sum, 4 banks: a row is 4 values, and `.` is an unused place after it:
///
///     filled        3  1  4  1  .  5  9  2  6
///     up, 1 apart   3  4  4  5  .  5 14  2  8   right children 1 3 5 7 in banks 1 3 2 0; in order 1 3 1 3
///     up, 2 apart   3  4  4  9  .  5 14  2 22   right children 3 7 in banks 3 0; in order 3 3
///     up, 4 apart   3  4  4  9  .  5 14  2 31
///     root cleared  3  4  4  9  .  5 14  2  0   the total, 31, is kept
///     down, 4 apart 3  4  4  0  .  5 14  2  9
///     down, 2 apart 3  0  4  4  .  5  9  2 23
///     down, 1 apart 0  3  4  8  .  9 14 23 25   the exclusive scan

#include "../blelloch_tile.hpp"
#include "../scan_plan.hpp"

#include <array>

#include <tessera/collective/team/bank_padded.hpp>
#include <tessera/kernels/detail/scan/scan_elements.hpp>

namespace tessera::prefix_sum {

/// \tparam Value the type of the tile's values; its size sets the number of values per row of banks
template <class Value>
struct BlellochPaddedTile : BlellochTile {
  template <class Values>
  using Tile = team::BankPadded<Values>;

  /// The length of BlellochTile's View, with the unused places.
  [[nodiscard]] static std::array<int, 1> scratch(int tile, int threads) {
    return {team::padded_length(BlellochTile::scratch(tile, threads)[0], team::bank_row<Value>)};
  }
};

struct BlellochPadded {
  static constexpr VariantInfo info{.name = "blelloch_padded",
                                    .level = Level::team,
                                    .summary = "as blelloch, with its indices padded against bank conflicts"};
  template <class Exec, class T, class Op>
  using Scan = kernels::TwoLevelScan<Exec, T, Op, BlellochPaddedTile<typename kernels::ScanElements<T, Op>::Value>>;
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<BlellochPadded, Exec, T>;
};

VariantRows blelloch_padded() { return rows<PrefixSum, BlellochPadded>(); }

}  // namespace tessera::prefix_sum
