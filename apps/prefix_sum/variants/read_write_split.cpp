/// \file
/// Hillis and Steele's scan in one View of scratch: read into registers, barrier, add and write, barrier
/// (collective/team/hillis_steele.hpp), in the two-level scheme (kernels/two_level_scan.hpp). It takes half the scratch
/// of `hillis_steele` and twice the barriers.

#include "../scan_plan.hpp"

#include <array>
#include <cmath>

#include <tessera/collective/team/hillis_steele.hpp>
#include <tessera/kernels/two_level_scan.hpp>

namespace tessera::prefix_sum {

template <class Exec>
struct ReadWriteSplitTile : kernels::TileScanInScratch {
  static constexpr int values_per_element = 1;
  // Values per thread. On a GPU they are in registers, and 256 threads hold a tile. A host's few threads hold more
  // values, in their cache, so that they wait for each other less often.
  static constexpr int items = is_gpu<Exec> ? 16 : 256;
  [[nodiscard]] static std::array<int, 1> scratch(int tile, int) { return {tile}; }
  /// One addition per sweep.
  [[nodiscard]] static double rounding_steps(int tile, int) { return std::ceil(std::log2(tile)); }

  template <class Member, class Values, class Op>
  [[nodiscard]] KOKKOS_FUNCTION static kernels::ScannedTile<Values> run(Member const& team, Values const& tile, int n,
                                                                        Op const& op) {
    team::hillis_steele_in_place<items>(team, tile, n, op);
    return {tile, true, op.identity()};
  }
};

struct ReadWriteSplit {
  static constexpr VariantInfo info{.name = "read_write_split",
                                    .level = Level::team,
                                    .summary = "hillis_steele in one buffer: read, barrier, add and write, barrier"};
  template <class Exec, class T, class Op>
  using Scan = kernels::TwoLevelScan<Exec, T, Op, ReadWriteSplitTile<Exec>>;
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<ReadWriteSplit, Exec, T>;
};

VariantRows read_write_split() { return rows<PrefixSum, ReadWriteSplit>(); }

}  // namespace tessera::prefix_sum
