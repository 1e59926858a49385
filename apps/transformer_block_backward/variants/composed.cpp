/// \file
/// One kernel after the other, each with its result in memory: the forward stages (kernels/transformer_block.hpp), then
/// the gradients of each stage from the last to the first (kernels/transformer_block_backward.hpp).

#include <Kokkos_Core.hpp>

#include "../problem.hpp"

#include <tessera/kernels/transformer_block.hpp>
#include <tessera/kernels/transformer_block_backward.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transformer_block_backward {

struct Composed {
  static constexpr VariantInfo info{
      .name = "composed",
      .level = Level::team,
      .summary = "kernels for the products, layernorm, attention and their gradients, each through memory"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
    using In = InputOn<TransformerBlockBackward, Exec, T>;

   public:
    Plan(Exec const& exec, In const& in)
        : block_(exec, shape_of(in), in.parameters.team, label),
          backward_(exec, shape_of(in), in.parameters.team, label),
          stages_(shape_of(in), true, label),
          steps_(longest_stage(in, {block_.rounding_steps(), backward_.rounding_steps()})) {}

    void operator()(Exec const& exec, In const& in, OutputOn<TransformerBlockBackward, Exec, T> const& out) const {
      auto const x = rows_of(in.x);
      block_.stages(exec, x, in, stages_);
      backward_(exec, x, in, stages_, rows_of(in.grad_y), rows_of(out.dx), out);
    }

    [[nodiscard]] double rounding_steps() const { return steps_; }

   private:
    static constexpr char const* label = "tessera::transformer_block_backward::composed";
    static kernels::BlockShape shape_of(In const& in) {
      return {.heads = in.template attention<kernels::Heads>(), .d_ff = in.d_ff(), .eps = in.parameters.eps};
    }

    kernels::TransformerBlock<Exec, T> block_;
    kernels::TransformerBlockBackward<Exec, T> backward_;
    kernels::BlockStages<Exec, T> stages_;
    double steps_;
  };
};

VariantRows composed() { return rows<TransformerBlockBackward, Composed>(); }

}  // namespace tessera::transformer_block_backward
