/// \file
/// The teams of a cluster hold the counts together: each counts in the scratch of the team that owns the bin.
/// The kernel is kernels/cluster_histogram.hpp. CUDA from compute capability 9.0; elsewhere the row is skipped.

#include "../plan.hpp"

#include <tessera/kernels/cluster_histogram.hpp>

namespace tessera::histogram {

struct Cluster {
  static constexpr VariantInfo info{.name = "cluster",
                                    .level = Level::lane,
                                    .summary = "counts shared by a cluster's teams, each owns a part of the bins"};
  template <ExecutionSpace Exec, class T>
  using Plan = CountPlan<Cluster, Exec, T, kernels::ClusterHistogram<Exec, T>>;
};

VariantRows cluster() { return rows<Histogram, Cluster>(); }

}  // namespace tessera::histogram
