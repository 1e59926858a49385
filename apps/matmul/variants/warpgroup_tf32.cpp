/// \file
/// On warpgroups: matrix units that read b from scratch, on GPUs of compute capability 9.0. Factors are rounded to tf32
/// (11 significant bits). Sums are floats. The kernel is kernels/warpgroup_tf32_gemm.hpp. CMake compiles this file for
/// 9.0a.

#include "../tf32_plan.hpp"

#include <tessera/kernels/warpgroup_tf32_gemm.hpp>

namespace tessera::matmul {

struct WarpgroupTf32 {
  static constexpr VariantInfo info{
      .name = "warpgroup_tf32",
      .level = Level::team,
      .summary = "matrix units that read scratch, factors rounded to tf32 (11 bits), sums in float",
      .unit = Unit::tf32};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = SharedPlan<Matmul, WarpgroupTf32, Tf32Plan<Exec, 1, kernels::WarpgroupTf32Gemm<Exec, 1>>>;
};

VariantRows warpgroup_tf32() { return rows<Matmul, WarpgroupTf32>(); }

}  // namespace tessera::matmul
