/// \file
/// On matrix units (tensor cores), with factors rounded to Half (11 significant bits, up to 65504). Sums are floats.
/// The kernel is kernels/tensor_gemm.hpp; half_product.hpp states its error.

#include "../half_product.hpp"

namespace tessera::matmul {

struct TensorFp16 {
  static constexpr VariantInfo info{.name = "tensor_fp16",
                                    .level = Level::lane,
                                    .summary = "matrix units, factors rounded to half (11 bits), sums in float",
                                    .unit = Unit::half};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = OnMatrixUnits<Matmul, TensorFp16, Exec, HalfPlan<Exec, Half>>;
};

VariantRows tensor_fp16() { return rows<Matmul, TensorFp16>(); }

}  // namespace tessera::matmul
