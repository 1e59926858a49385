/// \file
/// On matrix units (tensor cores) with float accuracy: each factor is the sum of three bfloat16 numbers, which hold its
/// 24 bits, so a product takes six products of the matrix unit. The kernel is kernels/tensor_attention.hpp.

#include "../tensor_plan.hpp"

namespace tessera::attention {

struct FusedBf16x3 {
  static constexpr VariantInfo info{
      .name = "fused_bf16x3",
      .level = Level::lane,
      .summary = "matrix units, factors as sums of three bfloat16: float accuracy, softmax in registers",
      .unit = Unit::bfloat16,
      .unit_products = 6};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = TensorPlan<Exec, 3>;
};

VariantRows fused_bf16x3() { return rows<Attention, FusedBf16x3>(); }

}  // namespace tessera::attention
