/// \file
/// One team per group; its threads' maxima and sums are folded half onto half, with one barrier per level
/// (collective/team/fold_halves.hpp). The plan is tree_plan.hpp.

#include "../tree_plan.hpp"

#include <tessera/collective/team/fold_halves.hpp>

namespace tessera::softmax {

struct Tree {
  static constexpr VariantInfo info{.name = "tree",
                                    .level = Level::team,
                                    .summary = "one team per group, its threads' maxima and sums folded in scratch"};

  template <class Team, class Values, class Op>
  KOKKOS_FUNCTION static void fold(Team const& team, Values const& values, int n, Op const& op) {
    team::fold_halves(team, values, n, op);
  }

  template <ExecutionSpace Exec, std::floating_point T>
  using Plan = TreePlan<Tree, Exec, T>;
};

VariantRows tree() { return rows<Softmax, Tree>(); }

}  // namespace tessera::softmax
