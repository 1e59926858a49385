/// \file
/// `tree` with neighbours first: the threads' sums are added in pairs, and the results are packed to the front. A level
/// writes to places that it also reads: it reads into a register, waits at a barrier, writes, and waits again
/// (collective/team/fold_pairs.hpp).

#include "../problem.hpp"
#include "../tree_plan.hpp"

#include <tessera/collective/team/fold_pairs.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::axis_sum {

struct TreePairs {
  static constexpr VariantInfo info{.name = "tree_pairs",
                                    .level = Level::team,
                                    .summary = "the same, neighbours first: read, barrier, write, barrier"};

  struct Fold {
    template <class Team, class Values, class Op>
    KOKKOS_FUNCTION void operator()(Team const& team, Values const& values, int n, Op const& op) const {
      team::fold_pairs(team, values, n, op);
    }
  };

  template <ExecutionSpace Exec, class T>
  class Plan : public TreePlan<Exec, T, Fold> {
   public:
    Plan(Exec const& exec, InputOn<AxisSum, Exec, T> const& input)
        : TreePlan<Exec, T, Fold>("tessera::axis_sum::tree_pairs::sum", exec, input) {}
  };
};

VariantRows tree_pairs() { return rows<AxisSum, TreePairs>(); }

}  // namespace tessera::axis_sum
