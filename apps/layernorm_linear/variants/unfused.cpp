/// \file
/// The book's four kernels, one after the other: layernorm to memory, w transposed, the product of both, the bias.

#include <cstdint>

#include "../layer_plans.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/transpose.hpp>

namespace tessera::layernorm_linear {

struct Unfused {
  static constexpr VariantInfo info{
      .name = "unfused", .level = Level::team, .summary = "four kernels: layernorm, transpose, product, bias"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input)
        : layer_norm_(exec, input.rows(), input.hidden(), input.parameters.eps, input.parameters.team,
                      "tessera::layernorm_linear::unfused::layernorm"),
          transpose_(exec, input.outputs(), input.hidden(), input.parameters.team,
                     "tessera::layernorm_linear::unfused::transpose"),
          product_(product_of<Product>(exec, input, "tessera::layernorm_linear::unfused::product")),
          ln_(unset("tessera::layernorm_linear::unfused::ln"), input.rows(), input.hidden()),
          w_transposed_(unset("tessera::layernorm_linear::unfused::w_transposed"), input.hidden(), input.outputs()) {}

    void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input,
                    OutputOn<LayernormLinear, Exec, T> const& output) const {
      auto const bias = input.bias;
      auto const y = output.y;
      if (y.size() == 0) return;
      layer_norm_(exec, input.x, input.gamma, input.beta, ln_);
      transpose_(exec, input.w, w_transposed_);
      product_(exec, ln_, w_transposed_, y);
      Kokkos::parallel_for(
          "tessera::layernorm_linear::unfused::bias",
          kernels::columns_first<std::int64_t>(
              exec, {.rows = y.extent(0), .cols = y.extent(1), .tile_rows = 8, .tile_cols = 32}),
          KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { y(row, col) += bias(col); });
    }

    /// Counts the chain to ln (2 of it after xhat), the product and the bias.
    [[nodiscard]] double rounding_steps() const {
      return layer_norm_.rounding_steps() + 2 + product_.rounding_steps() + 1;
    }

   private:
    using Product = kernels::Gemm<Exec, T>;

    kernels::LayerNorm<Exec, T> layer_norm_;
    kernels::Transpose<Exec, T> transpose_;
    Product product_;
    Array<T**, typename Exec::memory_space> ln_;
    Array<T**, typename Exec::memory_space> w_transposed_;
  };
};

VariantRows unfused() { return rows<LayernormLinear, Unfused>(); }

}  // namespace tessera::layernorm_linear
