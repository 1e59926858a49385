/// \file
/// On warpgroups. Each factor is the sum of two tf32 numbers, and three products give float accuracy. The launches are
/// in tf32_layer.hpp, the product is kernels/warpgroup_tf32_gemm.hpp. CMake compiles this file for 9.0a.

#include "../tf32_layer.hpp"

#include <tessera/kernels/warpgroup_tf32_gemm.hpp>

namespace tessera::layernorm_linear {

struct Warpgroup3xtf32 {
  static constexpr VariantInfo info{
      .name = "warpgroup_3xtf32",
      .level = Level::team,
      .summary = "layernorm to memory, then product and bias by warpgroups with float accuracy",
      .unit = Unit::tf32,
      .unit_products = 3};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = OnMatrixUnits<LayernormLinear, Warpgroup3xtf32, Exec,
                             Tf32Layer<Exec, kernels::WarpgroupTf32Gemm<Exec, 2, StoredForm<float>>, true>>;
};

VariantRows warpgroup_3xtf32() { return rows<LayernormLinear, Warpgroup3xtf32>(); }

}  // namespace tessera::layernorm_linear
