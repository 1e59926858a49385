/// \file
/// On warpgroups. Each factor is the sum of two tf32 numbers, and three products give float accuracy. The launches are
/// in tf32_gradients.hpp, the products are kernels/warpgroup_tf32_gemm.hpp. CMake compiles this file for 9.0a.

#include "../tf32_gradients.hpp"

#include <tessera/kernels/product_form.hpp>
#include <tessera/kernels/warpgroup_tf32_gemm.hpp>

namespace tessera::layernorm_linear_backward {

struct Warpgroup3xtf32 {
  static constexpr VariantInfo info{.name = "warpgroup_3xtf32",
                                    .level = Level::team,
                                    .summary = "two_stage with products by warpgroups with float accuracy",
                                    .unit = Unit::tf32,
                                    .unit_products = 3};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = OnMatrixUnits<LayernormLinearBackward, Warpgroup3xtf32, Exec,
                             Tf32Gradients<Exec, kernels::WarpgroupTf32Gemm<Exec, 2>,
                                           kernels::WarpgroupTf32Gemm<Exec, 2, kernels::TransposedA>>>;
};

VariantRows warpgroup_3xtf32() { return rows<LayernormLinearBackward, Warpgroup3xtf32>(); }

}  // namespace tessera::layernorm_linear_backward
