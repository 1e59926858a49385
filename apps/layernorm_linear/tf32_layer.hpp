#pragma once
/// \file
/// The Plan of tensor_3xtf32: layernorm to memory, w transposed to memory, then a product on matrix units with float's accuracy
/// (kernels/tf32_gemm.hpp), which adds the bias as it stores.

#include <Kokkos_Core.hpp>

#include "magnitudes.hpp"
#include "problem.hpp"

#include <tessera/core/problem.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/tf32_gemm.hpp>
#include <tessera/kernels/transpose.hpp>

namespace tessera::layernorm_linear {

/// On hosts it emulates matrix units, for tests; the variant skips hosts. Throws Skip for elements that may round to
/// infinity, and on GPUs without matrix units.
template <ExecutionSpace Exec>
class Tf32Layer {
 public:
  Tf32Layer(Exec const& exec, InputOn<LayernormLinear, Exec, float> const& input)
      : layer_norm_(exec, input.rows(), input.hidden(), input.parameters.eps, input.parameters.team,
                    "tessera::layernorm_linear::tensor_3xtf32::layernorm"),
        transpose_(exec, input.outputs(), input.hidden(), input.parameters.team,
                   "tessera::layernorm_linear::tensor_3xtf32::transpose"),
        product_(exec, input.rows(), input.outputs(), input.hidden(),
                 "tessera::layernorm_linear::tensor_3xtf32::product"),
        ln_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::layernorm_linear::tensor_3xtf32::ln"),
            input.rows(), input.hidden()),
        w_transposed_(
            Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::layernorm_linear::tensor_3xtf32::w_transposed"),
            input.hidden(), input.outputs()),
        largest_(largest_factors(exec, input)) {}

  void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, float> const& input,
                  OutputOn<LayernormLinear, Exec, float> const& output) const {
    if (output.y.size() == 0) return;
    layer_norm_(exec, input.x, input.gamma, input.beta, ln_);
    transpose_(exec, input.w, w_transposed_);
    product_(exec, ln_, w_transposed_, output.y,
             {.load = {}, .store = kernels::sum_and_bias(exec, input.bias, input.outputs())});
  }

  /// Counted: what leads to ln, 2 of it after xhat; the product; the bias.
  [[nodiscard]] double rounding_steps() const {
    return layer_norm_.rounding_steps() + 2 + product_.rounding_steps() + 1;
  }
  [[nodiscard]] ReducedPrecision reduced_precision() const {
    return {.relative = product_.error(), .absolute = product_.lost_by_underflow(largest_.ln, largest_.w)};
  }

 private:
  using Form = kernels::ProductForm<false, false, kernels::AsStored, kernels::SumAndBias<float>>;

  kernels::LayerNorm<Exec, float> layer_norm_;
  kernels::Transpose<Exec, float> transpose_;
  kernels::Tf32Gemm<Exec, 2, Form> product_;
  Array<float**, typename Exec::memory_space> ln_;
  Array<float**, typename Exec::memory_space> w_transposed_;
  LargestFactors largest_;
};

}  // namespace tessera::layernorm_linear
