/// \file
/// The products by warpgroups, with the factors of all products rounded to BFloat16 (8 significant bits). Sums are
/// floats. The launches are in bf16_block.hpp, the products are kernels/warpgroup_gemm.hpp. CMake compiles this file
/// for 9.0a.

#include "../bf16_block.hpp"

#include <tessera/kernels/warpgroup_gemm.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transformer_block {

template <ExecutionSpace Exec>
struct WarpgroupBf16Products : Bf16Products<Exec> {
  template <class Form>
  using Product = kernels::WarpgroupGemm<Exec, BFloat16, Form>;
};

struct WarpgroupBf16 {
  static constexpr VariantInfo info{
      .name = "warpgroup_bf16",
      .level = Level::team,
      .summary = "fused products by warpgroups, attention on matrix units, factors rounded to bfloat16 (8 bits)",
      .unit = Unit::bfloat16};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = OnMatrixUnits<TransformerBlock, WarpgroupBf16, Exec, Bf16Block<Exec, WarpgroupBf16Products<Exec>>>;
};

VariantRows warpgroup_bf16() { return rows<TransformerBlock, WarpgroupBf16>(); }

}  // namespace tessera::transformer_block
