/// \file
/// On matrix units (tensor cores), with factors rounded to BFloat16 (8 significant bits, float's range). Sums are
/// floats. The kernel is kernels/tensor_gemm.hpp; half_product.hpp states its error.

#include "../half_product.hpp"

namespace tessera::matmul {

struct TensorBf16 {
  static constexpr VariantInfo info{.name = "tensor_bf16",
                                    .level = Level::lane,
                                    .summary = "matrix units, factors rounded to bfloat16 (8 bits), sums in float",
                                    .unit = Unit::bfloat16};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = OnMatrixUnits<Matmul, TensorBf16, Exec, HalfPlan<Exec, BFloat16>>;
};

VariantRows tensor_bf16() { return rows<Matmul, TensorBf16>(); }

}  // namespace tessera::matmul
