/// \file
/// On warpgroups: matrix units that read their factors from scratch, on GPUs of compute capability 9.0. Factors are
/// rounded to Half (11 significant bits, up to 65504). Sums are floats. The kernel is kernels/warpgroup_gemm.hpp;
/// half_product.hpp states its error. CMake compiles this file for 9.0a.

#include "../half_product.hpp"

#include <tessera/kernels/warpgroup_gemm.hpp>

namespace tessera::matmul {

struct WarpgroupFp16 {
  static constexpr VariantInfo info{
      .name = "warpgroup_fp16",
      .level = Level::team,
      .summary = "matrix units that read scratch, factors rounded to half (11 bits), sums in float",
      .unit = Unit::half};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = SharedPlan<Matmul, WarpgroupFp16,
                          HalfPlan<Exec, Half, kernels::WarpgroupGemm<Exec, Half>, kernels::WarpgroupTile<>::lanes>>;
};

VariantRows warpgroup_fp16() { return rows<Matmul, WarpgroupFp16>(); }

}  // namespace tessera::matmul
