/// \file
/// One launch that reads the matrix once: teams that run at the same time hold a band of columns, most of it in
/// registers and some in scratch, and wait for each other's sums before they write. GPUs can hold tens of thousands of
/// rows; a host can hold few. A matrix with more rows is skipped. The kernel is kernels/held_column_softmax.hpp.

#include "../plan.hpp"

#include <tessera/kernels/held_column_softmax.hpp>

namespace tessera::softmax {

struct RegisterColumns {
  static constexpr VariantInfo info{.name = "register_columns",
                                    .level = Level::device,
                                    .summary = "columns held in the registers of several teams: 1 launch, read once"};

  template <ExecutionSpace Exec, std::floating_point T>
  struct Plan : SoftmaxPlan<RegisterColumns, Axis::cols, Exec, T, kernels::HeldColumnSoftmax<Exec, T>> {
    using Plan::SoftmaxPlan::SoftmaxPlan;

    [[nodiscard]] std::string note() const {
      return std::to_string(this->bands()) + " bands of " + std::to_string(this->band_width()) + " columns, " +
             std::to_string(this->teams()) + (this->teams() == 1 ? " team" : " teams");
    }
  };
};

VariantRows register_columns() { return rows<Softmax, RegisterColumns>(); }

}  // namespace tessera::softmax
