/// \file
/// On matrix units (tensor cores). Each factor is the sum of two tf32 numbers, and three products give float accuracy.
/// The launches are in tf32_layer.hpp.

#include "../tf32_layer.hpp"

namespace tessera::layernorm_linear {

struct Tensor3xtf32 {
  static constexpr VariantInfo info{
      .name = "tensor_3xtf32",
      .level = Level::lane,
      .summary = "layernorm, transpose, then product and bias on matrix units with float accuracy",
      .unit = Unit::tf32,
      .unit_products = 3};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = OnMatrixUnits<LayernormLinear, Tensor3xtf32, Exec, Tf32Layer<Exec>>;
};

VariantRows tensor_3xtf32() { return rows<LayernormLinear, Tensor3xtf32>(); }

}  // namespace tessera::layernorm_linear
