/// \file
/// Two launches: the rows' statistics, then a product that normalises x as it loads it. ln is not stored; an element of
/// x is normalised once per tile of outputs.

#include "../problem.hpp"

#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear {

struct TwoLaunch {
  static constexpr VariantInfo info{
      .name = "two_launch",
      .level = Level::team,
      .summary = "statistics of rows, then a tiled product that normalises what it loads"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input)
        : layer_norm_(exec, input.rows(), input.hidden(), input.parameters.eps, input.parameters.team,
                      "tessera::layernorm_linear::two_launch::statistics"),
          product_(exec, input.rows(), input.outputs(), input.hidden(), Product::team_if_open(input.parameters.team),
                   "tessera::layernorm_linear::two_launch::product"),
          mean_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::layernorm_linear::two_launch::mean"),
                input.rows()),
          inv_std_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::layernorm_linear::two_launch::inv_std"),
                   input.rows()) {}

    void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input,
                    OutputOn<LayernormLinear, Exec, T> const& output) const {
      auto const& [x, gamma, beta, w, bias, parameters] = input;
      layer_norm_.statistics(exec, x, mean_, inv_std_);
      product_(exec, x, w, output.y,
               {.load = layer_norm_.on_load(x, gamma, beta, mean_, inv_std_),
                .store = kernels::sum_and_bias(exec, bias, input.outputs())});
    }

    /// Counts the chain to ln (2 of it after xhat), the product and the bias.
    [[nodiscard]] double rounding_steps() const {
      return layer_norm_.rounding_steps() + 2 + product_.rounding_steps() + 1;
    }

   private:
    using Form = kernels::ProductForm<false, true, kernels::NormaliseOnLoad<T>, kernels::SumAndBias<T>>;
    using Product = kernels::Gemm<Exec, T, Form>;

    kernels::LayerNorm<Exec, T> layer_norm_;
    Product product_;
    Kokkos::View<T*, typename Exec::memory_space> mean_;
    Kokkos::View<T*, typename Exec::memory_space> inv_std_;
  };
};

VariantRows two_launch() { return rows<LayernormLinear, TwoLaunch>(); }

}  // namespace tessera::layernorm_linear
