/// \file
/// `tree` with neighbours first: a level writes to places that it also reads, so it needs two barriers
/// (collective/team/fold_pairs.hpp). The plan is tree_plan.hpp.

#include "../tree_plan.hpp"

#include <tessera/collective/team/fold_pairs.hpp>

namespace tessera::softmax {

struct TreePairs : team::FoldPairs {
  static constexpr VariantInfo info{.name = "tree_pairs",
                                    .level = Level::team,
                                    .summary = "as tree, neighbours first: read, barrier, write, barrier"};

  template <ExecutionSpace Exec, std::floating_point T>
  using Plan = TreePlan<TreePairs, Exec, T>;
};

VariantRows tree_pairs() { return rows<Softmax, TreePairs>(); }

}  // namespace tessera::softmax
