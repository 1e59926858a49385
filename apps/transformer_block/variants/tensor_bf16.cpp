/// \file
/// On matrix units (tensor cores), with the factors of all products rounded to BFloat16 (8 significant bits). Sums are
/// floats. The launches are in bf16_block.hpp.

#include "../bf16_block.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::transformer_block {

struct TensorBf16 {
  static constexpr VariantInfo info{
      .name = "tensor_bf16",
      .level = Level::lane,
      .summary = "fused products and attention on matrix units, factors rounded to bfloat16 (8 bits)",
      .unit = Unit::bfloat16};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = OnMatrixUnits<TransformerBlock, TensorBf16, Exec, Bf16Block<Exec>>;
};

VariantRows tensor_bf16() { return rows<TransformerBlock, TensorBf16>(); }

}  // namespace tessera::transformer_block
