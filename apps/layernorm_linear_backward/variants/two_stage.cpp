/// \file
/// Deterministic, in few sweeps (two_stage_gradients.hpp):
///   1. q = G w.
///   2. One sweep over x and q makes dx, ln and the column sums of each chunk of rows, which are added in their order.
///   3. dw = G^T ln, whose k is split over teams if dw is small.

#include "../two_stage_gradients.hpp"

#include <tessera/table/shared_plan.hpp>

namespace tessera::layernorm_linear_backward {

struct TwoStage {
  static constexpr VariantInfo info{.name = "two_stage",
                                    .level = Level::lane,
                                    .summary = "row work fused, sums of columns in chunks that are added in order"};

  template <ExecutionSpace Exec, std::floating_point T>
  using Plan = SharedPlan<LayernormLinearBackward, TwoStage, TwoStageGradients<Exec, T>>;
};

VariantRows two_stage() { return rows<LayernormLinearBackward, TwoStage>(); }

}  // namespace tessera::layernorm_linear_backward
