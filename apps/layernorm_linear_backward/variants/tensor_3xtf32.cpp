/// \file
/// On matrix units (tensor cores). Each factor is the sum of two tf32 numbers, and three products give float accuracy.
/// The launches are in tf32_gradients.hpp.

#include "../tf32_gradients.hpp"

namespace tessera::layernorm_linear_backward {

struct Tensor3xtf32 {
  static constexpr VariantInfo info{.name = "tensor_3xtf32",
                                    .level = Level::lane,
                                    .summary = "two_stage with products on matrix units with float accuracy",
                                    .unit = Unit::tf32,
                                    .unit_products = 3};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = OnMatrixUnits<LayernormLinearBackward, Tensor3xtf32, Exec, Tf32Gradients<Exec>>;
};

VariantRows tensor_3xtf32() { return rows<LayernormLinearBackward, Tensor3xtf32>(); }

}  // namespace tessera::layernorm_linear_backward
