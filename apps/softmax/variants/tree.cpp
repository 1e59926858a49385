/// \file
/// One team per group; its threads' maxima and sums are folded half onto half, with one barrier per level
/// (collective/team/fold_halves.hpp). The plan is tree_plan.hpp.

#include <type_traits>

#include "../problem.hpp"
#include "../tree_plan.hpp"

#include <tessera/collective/team/fold_halves.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

struct Tree {
  static constexpr VariantInfo info{.name = "tree",
                                    .level = Level::team,
                                    .summary = "a team a group, its threads' maxima and sums folded in scratch"};

  struct Fold {
    template <class Team, class Values, class Op>
    KOKKOS_FUNCTION void operator()(Team const& team, Values const& values, int n, Op const& op) const {
      team::fold_halves(team, values, n, op);
    }
  };

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan : public TreePlan<Exec, T, Fold> {
   public:
    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& input)
        : TreePlan<Exec, T, Fold>("tessera::softmax::tree::groups", exec, input) {}
  };
};

VariantRows tree() { return rows<Softmax, Tree>(); }

}  // namespace tessera::softmax
