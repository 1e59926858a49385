/// \file
/// Two steps: ln = layernorm(x) to memory, then the product of ln and w transposed, which adds the bias as it stores.

#include <type_traits>

#include "../problem.hpp"

#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear {

struct StoredRows {
  static constexpr VariantInfo info{.name = "stored_rows",
                                    .level = Level::team,
                                    .summary = "layernorm to memory, then a tiled product with the bias"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input)
        : layer_norm_(exec, input.rows(), input.hidden(), input.parameters.eps, input.parameters.team,
                      "tessera::layernorm_linear::stored_rows::layernorm"),
          product_(exec, input.rows(), input.outputs(), input.hidden(), Product::team_if_open(input.parameters.team),
                   "tessera::layernorm_linear::stored_rows::product"),
          ln_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::layernorm_linear::stored_rows::ln"),
              input.rows(), input.hidden()) {}

    void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input,
                    OutputOn<LayernormLinear, Exec, T> const& output) const {
      layer_norm_(exec, input.x, input.gamma, input.beta, ln_);
      product_(exec, ln_, input.w, output.y,
               {.load = {}, .store = kernels::sum_and_bias(exec, input.bias, input.outputs())});
    }

    /// Counted: what leads to ln, 2 of it after xhat; the product; the bias.
    [[nodiscard]] double rounding_steps() const {
      return layer_norm_.rounding_steps() + 2 + product_.rounding_steps() + 1;
    }

   private:
    using Form = kernels::ProductForm<false, true, kernels::AsStored, kernels::SumAndBias<T>>;
    using Product = kernels::Gemm<Exec, T, Form>;

    kernels::LayerNorm<Exec, T> layer_norm_;
    Product product_;
    Array<T**, typename Exec::memory_space> ln_;
  };
};

VariantRows stored_rows() { return rows<LayernormLinear, StoredRows>(); }

}  // namespace tessera::layernorm_linear
