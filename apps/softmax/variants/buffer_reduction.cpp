/// \file
/// Several teams share a row, for rows that are too long for one team: the first launch stores {max, sum} of each
/// chunk, and each team of the second launch folds the pairs of its row's chunks in their order. Deterministic, without
/// atomics. The kernel is kernels/split_softmax.hpp.

#include "../plan.hpp"

#include <tessera/kernels/split_softmax.hpp>

namespace tessera::softmax {

struct BufferReduction {
  static constexpr VariantInfo info{
      .name = "buffer_reduction",
      .level = Level::device,
      .summary = "several teams per row, the results of their chunks in memory: 2 launches"};

  template <ExecutionSpace Exec, std::floating_point T>
  using Plan = SoftmaxPlan<BufferReduction, Axis::rows, Exec, T, kernels::SplitRowSoftmax<Exec, T>>;
};

VariantRows buffer_reduction() { return rows<Softmax, BufferReduction>(); }

}  // namespace tessera::softmax
