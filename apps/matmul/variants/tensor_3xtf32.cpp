/// \file
/// On matrix units (tensor cores). Each factor is the sum of two tf32 numbers, and three products give float accuracy:
/// the error bound is smaller than the bound of a chain of k multiply-adds in float. The kernel is
/// kernels/tf32_gemm.hpp.

#include "../tf32_plan.hpp"

namespace tessera::matmul {

struct Tensor3xtf32 {
  static constexpr VariantInfo info{
      .name = "tensor_3xtf32",
      .level = Level::lane,
      .summary = "matrix units, factors as sums of two tf32: three products, float accuracy",
      .unit = Unit::tf32,
      .unit_products = 3};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = OnMatrixUnits<Matmul, Tensor3xtf32, Exec, Tf32Plan<Exec, 2>>;
};

VariantRows tensor_3xtf32() { return rows<Matmul, Tensor3xtf32>(); }

}  // namespace tessera::matmul
