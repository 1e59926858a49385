/// \file
/// The formula, step by step, with the kernels of other mini-apps: transpose k, multiply, softmax of the rows in place,
/// multiply. There are two temporaries: the transposed keys, and the scores, which pass through memory four times.

#include "../composed_plan.hpp"

namespace tessera::attention {

struct Composed {
  static constexpr VariantInfo info{
      .name = "composed",
      .level = Level::device,
      .summary = "transpose, product, softmax of rows, product: the other mini-apps' kernels"};

  template <ExecutionSpace Exec, std::floating_point T>
  struct Plan : ComposedPlan<Exec, T> {
    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& input)
        : Plan::ComposedPlan(exec, input, input.q.extent(0), "tessera::attention::composed",
                             allocate_scores<Exec, T>(input)) {}

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                    OutputOn<Attention, Exec, T> const& output) const {
      this->transpose_keys(exec, input);
      this->attend(exec, input, input.q, output.out);
    }
  };
};

VariantRows composed() { return rows<Attention, Composed>(); }

}  // namespace tessera::attention
