/// \file
/// On matrix units (tensor cores), with factors rounded to bfloat16 (8 significant bits). For many queries it is the
/// fastest and the least accurate variant. The kernel is kernels/tensor_attention.hpp.

#include "../tensor_plan.hpp"

namespace tessera::attention {

struct FusedTensor {
  static constexpr VariantInfo info{
      .name = "fused_tensor",
      .level = Level::lane,
      .summary = "matrix units, factors rounded to bfloat16 (8 bits), softmax in registers between the products",
      .unit = Unit::bfloat16};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = TensorPlan<Exec, 1>;
};

VariantRows fused_tensor() { return rows<Attention, FusedTensor>(); }

}  // namespace tessera::attention
