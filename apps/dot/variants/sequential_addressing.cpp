/// \file
/// `team_tree` with strides that halve: the first threads of the team work, and their values are neighbours (sequential
/// addressing, collective/team/fold_halves.hpp). The plan is tree_plan.hpp.

#include "../tree_plan.hpp"

#include <tessera/collective/team/fold_halves.hpp>

namespace tessera::dot {

struct SequentialAddressing : team::FoldHalves {
  static constexpr VariantInfo info{.name = "sequential_addressing",
                                    .level = Level::team,
                                    .summary = "tree in team scratch, strides halve; teams added by atomics",
                                    .deterministic = false};

  template <ExecutionSpace Exec, class T>
  using Plan = TreePlan<SequentialAddressing, Exec, T>;
};

VariantRows sequential_addressing() { return rows<Dot, SequentialAddressing>(); }

}  // namespace tessera::dot
