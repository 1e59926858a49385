/// \file
/// On several ranks: each rank normalises its own rows, with gamma and beta on all ranks. Ranks exchange nothing. The
/// kernel is kernels/layer_norm.hpp.

#include <type_traits>

#include "../problem.hpp"

#include <tessera/kernels/layer_norm.hpp>
#include <tessera/ranks/part.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank its rows, gamma and beta on all, no communication"};

  template <ExecutionSpace Exec, class T>
    requires Floating<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Layernorm, Exec, T> const& input, ranks::Part const&)
        : layer_norm_(exec, input.x.extent(0), input.x.extent(1), input.parameters.eps, input.parameters.team,
                      "tessera::layernorm::distributed::rows") {}

    void operator()(Exec const& exec, InputOn<Layernorm, Exec, T> const& input,
                    OutputOn<Layernorm, Exec, T> const& output) const {
      layer_norm_(exec, input.x, input.gamma, input.beta, output.y);
    }

    /// Counts the chain to an xhat, and 2 for y.
    [[nodiscard]] double rounding_steps() const { return layer_norm_.rounding_steps() + 2; }

   private:
    kernels::LayerNorm<Exec, T> layer_norm_;
  };
};

VariantRows distributed() { return rows<Layernorm, Distributed>(); }

}  // namespace tessera::layernorm
