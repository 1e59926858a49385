/// \file
/// On warpgroups: matrix units that read their factors from scratch, on GPUs of compute capability 9.0. Factors are
/// rounded to BFloat16 (8 significant bits, float's range). Sums are floats. The kernel is kernels/warpgroup_gemm.hpp;
/// half_product.hpp states its error. CMake compiles this file for 9.0a.

#include "../half_product.hpp"

#include <tessera/kernels/warpgroup_gemm.hpp>

namespace tessera::matmul {

struct WarpgroupBf16 {
  static constexpr VariantInfo info{
      .name = "warpgroup_bf16",
      .level = Level::team,
      .summary = "matrix units that read scratch, factors rounded to bfloat16 (8 bits), sums in float",
      .unit = Unit::bfloat16};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan =
      SharedPlan<Matmul, WarpgroupBf16,
                 HalfPlan<Exec, BFloat16, kernels::WarpgroupGemm<Exec, BFloat16>, kernels::WarpgroupTile<>::lanes>>;
};

VariantRows warpgroup_bf16() { return rows<Matmul, WarpgroupBf16>(); }

}  // namespace tessera::matmul
