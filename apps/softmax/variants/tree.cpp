/// \file
/// One team per group; its threads' maxima and sums are folded half onto half, with one barrier per level
/// (collective/team/fold_halves.hpp). The plan is tree_plan.hpp.

#include "../tree_plan.hpp"

#include <tessera/collective/team/fold_halves.hpp>

namespace tessera::softmax {

struct Tree : team::FoldHalves {
  static constexpr VariantInfo info{.name = "tree",
                                    .level = Level::team,
                                    .summary = "one team per group, its threads' maxima and sums folded in scratch"};

  template <ExecutionSpace Exec, std::floating_point T>
  using Plan = TreePlan<Tree, Exec, T>;
};

VariantRows tree() { return rows<Softmax, Tree>(); }

}  // namespace tessera::softmax
