/// \file
/// A team for each sum; its threads' sums are folded half onto half in scratch (collective/team/fold_halves.hpp). The
/// plan is tree_plan.hpp.

#include "../tree_plan.hpp"

#include <tessera/collective/team/fold_halves.hpp>

namespace tessera::axis_sum {

struct Tree : team::FoldHalves {
  static constexpr VariantInfo info{
      .name = "tree", .level = Level::team, .summary = "one team per sum, its threads' sums folded in scratch"};

  template <ExecutionSpace Exec, class T>
  using Plan = TreePlan<Tree, Exec, T>;
};

VariantRows tree() { return rows<AxisSum, Tree>(); }

}  // namespace tessera::axis_sum
