/// \file
/// On matrix units (tensor cores), with factors rounded to bfloat16 (8 significant bits). The launches are in
/// tensor_layer.hpp.

#include "../tensor_layer.hpp"

namespace tessera::layernorm_linear {

struct FusedTensor {
  static constexpr VariantInfo info{
      .name = "fused_tensor",
      .level = Level::lane,
      .summary = "statistics of rows, then a product on matrix units, factors rounded to bfloat16 (8 bits)",
      .unit = Unit::bfloat16};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = OnMatrixUnits<LayernormLinear, FusedTensor, Exec, TensorLayer<Exec>>;
};

VariantRows fused_tensor() { return rows<LayernormLinear, FusedTensor>(); }

}  // namespace tessera::layernorm_linear
