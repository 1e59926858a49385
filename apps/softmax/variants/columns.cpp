/// \file
/// Columns are cut into as many chunks of rows as fill the machine: the first launch stores {max, sum} of each chunk of
/// a column, the second folds these pairs in their order and writes. If there are enough columns to keep the machine
/// busy, there is one chunk and one launch. The kernel is kernels/column_softmax.hpp.

#include "../plan.hpp"

#include <tessera/kernels/column_softmax.hpp>

namespace tessera::softmax {

struct Columns {
  static constexpr VariantInfo info{
      .name = "columns", .level = Level::team, .summary = "columns in chunks of rows, folded in their order"};

  template <ExecutionSpace Exec, std::floating_point T>
  using Plan = SoftmaxPlan<Columns, Axis::cols, Exec, T, kernels::ColumnSoftmax<Exec, T>>;
};

VariantRows columns() { return rows<Softmax, Columns>(); }

}  // namespace tessera::softmax
