/// \file
/// A single pass: each team handles one tile, and learns from its predecessors how many runs began before the tile, and
/// what they have of the run that is open there (decoupled look-back). The kernel is kernels/reduce_by_key.hpp.

#include "../look_back_plan.hpp"

namespace tessera::reduce_by_key {

struct LookBack {
  static constexpr VariantInfo info{.name = "look_back",
                                    .level = Level::device,
                                    .summary = "single pass: tiles look back for heads and the open run's fold",
                                    .deterministic = false,
                                    .ordered_by = "arrival"};

  template <ExecutionSpace Exec, class T>
  using Plan = LookBackPlan<LookBack, Exec, T>;
};

VariantRows look_back() { return rows<ReduceByKey, LookBack>(); }

}  // namespace tessera::reduce_by_key
