/// \file
/// One launch: the product of kernels/gemm.hpp normalises x as it loads it, and computes the row's statistics itself
/// whenever it begins a row. On a GPU a lane does so once per row of its tile that it loads; on a host a thread does so
/// for every step along k. Only y is stored; a row's statistics are computed again for each tile of outputs.

#include <cstddef>

#include "../layer_plans.hpp"
#include "../normalise_inside.hpp"

#include <tessera/collective/pack.hpp>
#include <tessera/kernels/gemm.hpp>

namespace tessera::layernorm_linear {

struct Fused {
  static constexpr VariantInfo info{
      .name = "fused",
      .level = Level::team,
      .summary = "one launch: a tiled product that takes the rows' statistics and normalises what it loads"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input)
        : product_(product_of<Product>(exec, input, "tessera::layernorm_linear::fused::product")),
          hidden_(input.hidden()) {}

    void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input,
                    OutputOn<LayernormLinear, Exec, T> const& output) const {
      T const* const x = input.x.data();
      Load const load{.x = x,
                      .gamma = input.gamma.data(),
                      .beta = input.beta.data(),
                      .cols = hidden_,
                      .eps = static_cast<T>(input.parameters.eps),
                      .in_packs = hidden_ % Load::pack == 0 && collective::is_aligned_for_packs<Load::pack>(x)};
      product_(exec, input.x, input.w, output.y,
               {.load = load, .store = kernels::sum_and_bias(exec, input.bias, input.outputs())});
    }

    /// Counts a row's sum by the lanes that share it, 8 to an xhat, 2 to ln, the product and the bias.
    [[nodiscard]] double rounding_steps() const {
      return Load::ByElements::sum_steps(hidden_) + 8 + 2 + product_.rounding_steps() + 1;
    }

   private:
    using Load = NormaliseInside<Exec, T>;
    using Product = kernels::Gemm<Exec, T, kernels::ProductForm<false, true, Load, kernels::SumAndBias<T>>>;

    Product product_;
    std::size_t hidden_;
  };
};

VariantRows fused() { return rows<LayernormLinear, Fused>(); }

}  // namespace tessera::layernorm_linear
