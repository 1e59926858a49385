/// \file
/// On warpgroups. Each factor is the sum of two tf32 numbers, and three products give float accuracy. The launches are
/// in tf32_block.hpp, the products are kernels/warpgroup_tf32_gemm.hpp. CMake compiles this file for 9.0a.

#include "../tf32_block.hpp"

#include <tessera/kernels/warpgroup_tf32_gemm.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transformer_block {

template <ExecutionSpace Exec>
struct WarpgroupProducts {
  static constexpr bool transpose = true;
  template <class Store>
  using With = kernels::WarpgroupTf32Gemm<Exec, 2, kernels::ProductForm<false, true, kernels::AsStored, Store>>;
};

struct Warpgroup3xtf32 {
  static constexpr VariantInfo info{
      .name = "warpgroup_3xtf32",
      .level = Level::team,
      .summary = "layernorm and fused products by warpgroups with float accuracy; attention on matrix units",
      .unit = Unit::tf32,
      .unit_products = 3};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = OnMatrixUnits<TransformerBlock, Warpgroup3xtf32, Exec, Tf32Block<Exec, WarpgroupProducts<Exec>>>;
};

VariantRows warpgroup_3xtf32() { return rows<TransformerBlock, Warpgroup3xtf32>(); }

}  // namespace tessera::transformer_block
