#pragma once
/// \file
/// The Plan of fused_tensor: the rows' statistics, then a product on matrix units (kernels/tensor_gemm.hpp) that
/// normalises x as it rounds x to bfloat16, and adds the bias as it stores y. ln is never stored in float.
///
/// The reference (reference.cpp) counts the rounding errors of the factors and the errors of sums that the matrix units
/// truncate.

#include <cstddef>
#include <stdexcept>
#include <string>

#include "layer_plans.hpp"
#include "magnitudes.hpp"

#include <tessera/core/half.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/tensor_gemm.hpp>
#include <tessera/table/on_matrix_units.hpp>

namespace tessera::layernorm_linear {

/// Emulates matrix units on hosts, for tests only; the variant skips hosts. Throws Skip for elements that may round to
/// infinity, and on GPUs without matrix units.
template <ExecutionSpace Exec>
class TensorLayer : public StatisticsProduct<Exec, float, kernels::TensorGemm<Exec, BFloat16, NormalisingForm<float>>> {
 public:
  /// \param label name of the variant; the launches are named label::statistics and label::product
  TensorLayer(Exec const& exec, InputOn<LayernormLinear, Exec, float> const& input,
              std::string const& label = "tessera::layernorm_linear::fused_tensor")
      : TensorLayer::StatisticsProduct(exec, input, label),
        hidden_(input.hidden()),
        largest_(largest_factors(exec, input)) {
    if (this->steps_to_ln() > LayernormLinear::steps_to_ln(hidden_)) {
      throw std::logic_error("fused_tensor: a row's sum has more roundings than the reference knows of");
    }
  }

  /// Counts the chain to ln and the bias.
  [[nodiscard]] double rounding_steps() const { return this->steps_to_ln() + 1; }

  [[nodiscard]] ReducedPrecision reduced_precision() const {
    // The reference counts the other errors. Below the normal range, a factor is off by 2^-134 times the other factor,
    // and a product by 2^-126.
    return {.absolute = 2 * static_cast<double>(hidden_) * ((largest_.ln + largest_.w) * 0x1p-134 + 0x1p-126),
            .bfloat16_factors = true};
  }

 private:
  std::size_t hidden_;
  LargestFactors largest_;
};

}  // namespace tessera::layernorm_linear
