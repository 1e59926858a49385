/// \file
/// `tree` with neighbours first: the threads' sums are added in pairs, and the results are packed to the front. A level
/// writes to places that it also reads: it reads into a register, waits at a barrier, writes, and waits again
/// (collective/team/fold_pairs.hpp).

#include "../tree_plan.hpp"

#include <tessera/collective/team/fold_pairs.hpp>

namespace tessera::axis_sum {

struct TreePairs : team::FoldPairs {
  static constexpr VariantInfo info{.name = "tree_pairs",
                                    .level = Level::team,
                                    .summary = "as tree, neighbours first: read, barrier, write, barrier"};

  template <ExecutionSpace Exec, class T>
  using Plan = TreePlan<TreePairs, Exec, T>;
};

VariantRows tree_pairs() { return rows<AxisSum, TreePairs>(); }

}  // namespace tessera::axis_sum
