/// \file
/// A tree in scratch, neighbours first: strides double (interleaved addressing, collective/team/tree_reduce.hpp). The
/// plan is tree_plan.hpp.

#include "../tree_plan.hpp"

#include <tessera/collective/team/tree_reduce.hpp>

namespace tessera::dot {

struct TeamTree {
  static constexpr VariantInfo info{.name = "team_tree",
                                    .level = Level::team,
                                    .summary = "tree in team scratch, strides double; teams added by atomics",
                                    .deterministic = false};

  template <class Team, class Values, class Op>
  KOKKOS_FUNCTION static void fold(Team const& team, Values const& values, int n, Op const& op) {
    team::tree_reduce(team, values.data(), n, op);
  }

  template <ExecutionSpace Exec, class T>
  using Plan = TreePlan<TeamTree, Exec, T>;
};

VariantRows team_tree() { return rows<Dot, TeamTree>(); }

}  // namespace tessera::dot
