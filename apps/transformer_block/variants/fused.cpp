/// \file
/// Layernorm, bias, gelu and residuals happen inside the products: see fused_block.hpp.

#include "../fused_block.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::transformer_block {

struct Fused {
  static constexpr VariantInfo info{
      .name = "fused",
      .level = Level::team,
      .summary = "9 kernels: layernorm in the products' loads; bias, gelu and residual in their stores"};

  template <ExecutionSpace Exec, std::floating_point T>
  struct Plan : FusedBlock<Exec, T> {
    Plan(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& input)
        : Plan::FusedBlock(exec, input, "tessera::transformer_block::fused") {}
  };
};

VariantRows fused() { return rows<TransformerBlock, Fused>(); }

}  // namespace tessera::transformer_block
