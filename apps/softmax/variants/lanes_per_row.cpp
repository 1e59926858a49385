/// \file
/// 1, 4, 16 or 32 lanes share a row, depending on its length. They hold it in registers, and each thread has several
/// rows in flight. For rows of up to 1024 floats or 512 doubles. The kernel is kernels/softmax.hpp.

#include "../plan.hpp"

#include <tessera/kernels/softmax.hpp>

namespace tessera::softmax {

struct LanesPerRow {
  static constexpr VariantInfo info{.name = "lanes_per_row",
                                    .level = Level::lane,
                                    .summary = "1 to 32 lanes hold a row in their registers, several rows in flight"};

  template <ExecutionSpace Exec, std::floating_point T>
  using Plan =
      SoftmaxPlan<LanesPerRow, Axis::rows, Exec, T,
                  kernels::RowSoftmax<Exec, T, kernels::SoftmaxTuning<Exec, T, kernels::SoftmaxMethod::lanes>>>;
};

VariantRows lanes_per_row() { return rows<Softmax, LanesPerRow>(); }

}  // namespace tessera::softmax
