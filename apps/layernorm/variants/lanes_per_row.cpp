/// \file
/// 8 or 32 lanes share a row; on a GPU a whole team shares a long row. They hold the row in registers from its sum to
/// its result. The kernel is kernels/layer_norm.hpp.

#include "../problem.hpp"

#include <tessera/kernels/layer_norm.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm {

struct LanesPerRow {
  static constexpr VariantInfo info{
      .name = "lanes_per_row", .level = Level::lane, .summary = "a few lanes per row, rows in registers"};

  template <ExecutionSpace Exec, Floating T>
  struct Plan : kernels::LayerNorm<Exec, T> {
    Plan(Exec const& exec, InputOn<Layernorm, Exec, T> const& input)
        : Plan::LayerNorm(exec, input.x.extent(0), input.x.extent(1), input.parameters.eps, input.parameters.team,
                          "tessera::layernorm::lanes_per_row::rows") {}

    /// Counts the chain to an xhat, and 2 for y.
    [[nodiscard]] double rounding_steps() const { return Plan::LayerNorm::rounding_steps() + 2; }
  };
};

VariantRows lanes_per_row() { return rows<Layernorm, LanesPerRow>(); }

}  // namespace tessera::layernorm
