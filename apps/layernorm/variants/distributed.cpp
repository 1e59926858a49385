/// \file
/// On several ranks: each rank normalises its own rows, with gamma and beta on all ranks. Ranks exchange nothing. The
/// kernel is kernels/layer_norm.hpp.

#include "../problem.hpp"

#include <tessera/kernels/layer_norm.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "rows split over the ranks, gamma and beta on all, no communication"};

  template <ExecutionSpace Exec, Floating T>
  struct Plan : kernels::LayerNorm<Exec, T> {
    Plan(Exec const& exec, InputOn<Layernorm, Exec, T> const& input, ranks::Part const&)
        : Plan::LayerNorm(exec, input.x.extent(0), input.x.extent(1), input.parameters.eps, input.parameters.team,
                          "tessera::layernorm::distributed::rows") {}

    /// Counts the chain to an xhat, and 2 for y.
    [[nodiscard]] double rounding_steps() const { return Plan::LayerNorm::rounding_steps() + 2; }
  };
};

VariantRows distributed() { return rows<Layernorm, Distributed>(); }

}  // namespace tessera::layernorm
