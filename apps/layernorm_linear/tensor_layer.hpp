#pragma once
/// \file
/// The Plan of fused_tensor: the rows' statistics, then a product on matrix units (kernels/tensor_gemm.hpp) that
/// normalises x as it rounds x to bfloat16, and adds the bias as it stores y. ln is never stored in float.
///
/// The reference (reference.cpp) counts the rounding errors of the factors and the errors of sums that the matrix units
/// truncate.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>

#include "magnitudes.hpp"
#include "problem.hpp"

#include <tessera/core/half.hpp>
#include <tessera/core/problem.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/tensor_gemm.hpp>

namespace tessera::layernorm_linear {

/// Emulates matrix units on hosts, for tests only; the variant skips hosts. Throws Skip for elements that may round to
/// infinity, and on GPUs without matrix units.
template <ExecutionSpace Exec>
class TensorLayer {
 public:
  /// \param label name of the variant; the launches are named label::statistics and label::product
  TensorLayer(Exec const& exec, InputOn<LayernormLinear, Exec, float> const& input,
              std::string const& label = "tessera::layernorm_linear::fused_tensor")
      : layer_norm_(exec, input.rows(), input.hidden(), input.parameters.eps, input.parameters.team,
                    label + "::statistics"),
        product_(exec, input.rows(), input.outputs(), input.hidden(), label + "::product"),
        mean_(Kokkos::view_alloc(Kokkos::WithoutInitializing, label + "::mean"), input.rows()),
        inv_std_(Kokkos::view_alloc(Kokkos::WithoutInitializing, label + "::inv_std"), input.rows()),
        hidden_(input.hidden()),
        largest_(largest_factors(exec, input)) {
    if (layer_norm_.rounding_steps() + 2 > LayernormLinear::steps_to_ln(hidden_)) {
      throw std::logic_error("fused_tensor: a row's sum has more roundings than the reference knows of");
    }
  }

  void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, float> const& input,
                  OutputOn<LayernormLinear, Exec, float> const& output) const {
    auto const& [x, gamma, beta, w, bias, parameters] = input;
    layer_norm_.statistics(exec, x, mean_, inv_std_);
    product_(exec, x, w, output.y,
             {.load = layer_norm_.on_load(x, gamma, beta, mean_, inv_std_),
              .store = kernels::sum_and_bias(exec, bias, input.outputs())});
  }

  /// Counts the chain to ln (2 of it after xhat) and the bias.
  [[nodiscard]] double rounding_steps() const { return layer_norm_.rounding_steps() + 2 + 1; }
  [[nodiscard]] ReducedPrecision reduced_precision() const {
    // The reference counts the other errors. Below the normal range, a factor is off by 2^-134 times the other factor,
    // and a product by 2^-126.
    return {.absolute = 2 * static_cast<double>(hidden_) * ((largest_.ln + largest_.w) * 0x1p-134 + 0x1p-126),
            .bfloat16_factors = true};
  }

 private:
  using Form = kernels::ProductForm<false, true, kernels::NormaliseOnLoad<float>, kernels::SumAndBias<float>>;

  kernels::LayerNorm<Exec, float> layer_norm_;
  kernels::TensorGemm<Exec, BFloat16, Form> product_;
  Kokkos::View<float*, typename Exec::memory_space> mean_;
  Kokkos::View<float*, typename Exec::memory_space> inv_std_;
  std::size_t hidden_;
  LargestFactors largest_;
};

}  // namespace tessera::layernorm_linear
