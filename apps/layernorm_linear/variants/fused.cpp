/// \file
/// One launch: the product of kernels/gemm.hpp normalises x as it loads it, and computes the row's statistics itself
/// whenever it begins a row. On a GPU a lane does so once per row of its tile that it loads; on a host a thread does so
/// for every step along k. Only y is stored; a row's statistics are computed again for each tile of outputs.

#include "../fused_product.hpp"
#include "../problem.hpp"

#include <tessera/table/make_app.hpp>
#include <tessera/table/shared_plan.hpp>

namespace tessera::layernorm_linear {

struct Fused {
  static constexpr VariantInfo info{
      .name = "fused",
      .level = Level::team,
      .summary = "one launch: a tiled product that takes the rows' statistics and normalises what it loads"};
  static constexpr char const* label = "tessera::layernorm_linear::fused::product";

  template <ExecutionSpace Exec, std::floating_point T>
  using Plan = SharedPlan<Fused, FusedProduct<Exec, T>>;
};

VariantRows fused() { return rows<LayernormLinear, Fused>(); }

}  // namespace tessera::layernorm_linear
