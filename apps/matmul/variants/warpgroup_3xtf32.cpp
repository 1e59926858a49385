/// \file
/// On warpgroups. Each factor is the sum of two tf32 numbers, and three products give float accuracy. The matrix unit
/// sums 16 terms of k at a time; these sums are added in float. The kernel is kernels/warpgroup_tf32_gemm.hpp. CMake
/// compiles this file for 9.0a.

#include "../tf32_plan.hpp"

#include <tessera/kernels/warpgroup_tf32_gemm.hpp>

namespace tessera::matmul {

struct Warpgroup3xtf32 {
  static constexpr VariantInfo info{
      .name = "warpgroup_3xtf32",
      .level = Level::team,
      .summary = "matrix units that read scratch, factors as sums of two tf32: three products, float accuracy",
      .unit = Unit::tf32,
      .unit_products = 3};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = SharedPlan<Matmul, Warpgroup3xtf32, Tf32Plan<Exec, 2, kernels::WarpgroupTf32Gemm<Exec, 2>>>;
};

VariantRows warpgroup_3xtf32() { return rows<Matmul, Warpgroup3xtf32>(); }

}  // namespace tessera::matmul
