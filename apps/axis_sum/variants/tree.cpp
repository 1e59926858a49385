/// \file
/// A team for each sum; its threads' sums are folded half onto half in scratch (collective/team/fold_halves.hpp). The
/// plan is tree_plan.hpp.

#include "../tree_plan.hpp"

#include <tessera/collective/team/fold_halves.hpp>

namespace tessera::axis_sum {

struct Tree {
  static constexpr VariantInfo info{
      .name = "tree", .level = Level::team, .summary = "one team per sum, its threads' sums folded in scratch"};

  template <class Team, class Values, class Op>
  KOKKOS_FUNCTION static void fold(Team const& team, Values const& values, int n, Op const& op) {
    team::fold_halves(team, values, n, op);
  }

  template <ExecutionSpace Exec, class T>
  using Plan = TreePlan<Tree, Exec, T>;
};

VariantRows tree() { return rows<AxisSum, Tree>(); }

}  // namespace tessera::axis_sum
