/// \file
/// On matrix units (tensor cores). Each factor is the sum of two tf32 numbers, and three products give float accuracy.
/// The launches are in tf32_block.hpp.

#include "../tf32_block.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::transformer_block {

struct Tensor3xtf32 {
  static constexpr VariantInfo info{
      .name = "tensor_3xtf32",
      .level = Level::lane,
      .summary = "layernorm, transposes and fused products on matrix units with float accuracy, and attention",
      .unit = Unit::tf32,
      .unit_products = 3};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = OnMatrixUnits<TransformerBlock, Tensor3xtf32, Exec, Tf32Block<Exec>>;
};

VariantRows tensor_3xtf32() { return rows<TransformerBlock, Tensor3xtf32>(); }

}  // namespace tessera::transformer_block
