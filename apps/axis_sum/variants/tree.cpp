/// \file
/// A team for each sum; its threads' sums are folded half onto half in scratch (collective/team/fold_halves.hpp). The
/// plan is tree_plan.hpp.

#include "../problem.hpp"
#include "../tree_plan.hpp"

#include <tessera/collective/team/fold_halves.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::axis_sum {

struct Tree {
  static constexpr VariantInfo info{
      .name = "tree", .level = Level::team, .summary = "a team for each sum, its threads' sums folded in scratch"};

  struct Fold {
    template <class Team, class Values, class Op>
    KOKKOS_FUNCTION void operator()(Team const& team, Values const& values, int n, Op const& op) const {
      team::fold_halves(team, values, n, op);
    }
  };

  template <ExecutionSpace Exec, class T>
  class Plan : public TreePlan<Exec, T, Fold> {
   public:
    Plan(Exec const& exec, InputOn<AxisSum, Exec, T> const& input)
        : TreePlan<Exec, T, Fold>("tessera::axis_sum::tree::sum", exec, input) {}
  };
};

VariantRows tree() { return rows<AxisSum, Tree>(); }

}  // namespace tessera::axis_sum
