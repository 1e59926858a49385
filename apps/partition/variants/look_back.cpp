/// \file
/// A single pass over the data with decoupled look-back, and a launch that moves the right elements behind the left
/// ones: 2n traffic where all are left, 4n where all are right. The kernel is kernels/partition.hpp.

#include "../whole_array_plan.hpp"

#include <tessera/kernels/partition.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

struct LookBack {
  static constexpr VariantInfo info{.name = "look_back",
                                    .level = Level::device,
                                    .summary = "single pass: tiles ask their predecessors; then right ones are moved"};
  template <class Exec, class T, class Predicate>
  using Kernel = kernels::LookBackPartition<Exec, T, Predicate>;
  template <ExecutionSpace Exec, class T>
  using Plan = WholeArrayPlan<LookBack, Exec, T>;
};

VariantRows look_back() { return rows<Partition, LookBack>(); }

}  // namespace tessera::partition
