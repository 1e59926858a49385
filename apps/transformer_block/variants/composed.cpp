/// \file
/// One kernel after the other, each with its result in memory: kernels/transformer_block.hpp.

#include <Kokkos_Core.hpp>

#include "../problem.hpp"

#include <tessera/kernels/transformer_block.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transformer_block {

struct Composed {
  static constexpr VariantInfo info{
      .name = "composed",
      .level = Level::team,
      .summary = "12 kernels: layernorm, products with bias, attention, gelu, residuals, each through memory"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& in)
        : block_(exec, shape_of(in), in.parameters.team, "tessera::transformer_block::composed"),
          stages_(shape_of(in), false, "tessera::transformer_block::composed"),
          steps_(longest_stage(in, {block_.rounding_steps()})) {}

    void operator()(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& in,
                    OutputOn<TransformerBlock, Exec, T> const& out) const {
      if (out.y.size() > 0) block_(exec, rows_of(in.x), in, stages_, rows_of(out.y));
    }

    [[nodiscard]] double rounding_steps() const { return steps_; }

   private:
    static kernels::BlockShape shape_of(InputOn<TransformerBlock, Exec, T> const& in) {
      return {.heads = in.template attention<kernels::Heads>(), .d_ff = in.d_ff(), .eps = in.parameters.eps};
    }

    kernels::TransformerBlock<Exec, T> block_;
    kernels::BlockStages<Exec, T> stages_;
    double steps_;
  };
};

VariantRows composed() { return rows<TransformerBlock, Composed>(); }

}  // namespace tessera::transformer_block
