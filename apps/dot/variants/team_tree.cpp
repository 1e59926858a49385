/// \file
/// A tree in scratch, neighbours first: strides double (interleaved addressing, collective/team/tree_reduce.hpp). The
/// plan is tree_plan.hpp.

#include "../problem.hpp"
#include "../tree_plan.hpp"

#include <tessera/collective/team/tree_reduce.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::dot {

struct TeamTree {
  static constexpr VariantInfo info{.name = "team_tree",
                                    .level = Level::team,
                                    .summary = "tree in team scratch, strides double; teams added by atomics",
                                    .deterministic = false};

  struct Fold {
    template <class Team, class Values, class Op>
    KOKKOS_FUNCTION void operator()(Team const& team, Values const& values, int n, Op const& op) const {
      team::tree_reduce(team, values.data(), n, op);
    }
  };

  template <ExecutionSpace Exec, class T>
  class Plan : public TreePlan<Exec, T, Fold> {
   public:
    Plan(Exec const& exec, InputOn<Dot, Exec, T> const& input)
        : TreePlan<Exec, T, Fold>("tessera::dot::team_tree", exec, input) {}
  };
};

VariantRows team_tree() { return rows<Dot, TeamTree>(); }

}  // namespace tessera::dot
