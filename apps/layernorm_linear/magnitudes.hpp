#pragma once
/// \file
/// Checks whether a layer's factors may be too large for matrix units.

#include <cmath>

#include "problem.hpp"

#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/largest_magnitude.hpp>

namespace tessera::layernorm_linear {

/// Bounds for the magnitudes of the product's factors.
struct LargestFactors {
  double ln;  ///< a row's (x - mean) * inv_std is at most sqrt(H)
  double w;
};

/// Returns bounds for the largest factors. Throws Skip if any w or ln is infinite or rounds to infinity, because the
/// second term of such a factor would be NaN. Waits for the device.
template <ExecutionSpace Exec>
[[nodiscard]] LargestFactors largest_factors(Exec const& exec, InputOn<LayernormLinear, Exec, float> const& input) {
  auto const largest_of = [&](auto const& field) {
    auto const largest = static_cast<double>(kernels::largest_magnitude(exec, field));
    if (largest > 0x1p100) {
      throw Skip("elements of w, gamma or beta above 2^100 (factors may round to infinity)");
    }
    return largest;
  };
  double const gamma = largest_of(input.gamma);
  return {.ln = gamma * std::sqrt(static_cast<double>(input.hidden())) + largest_of(input.beta),
          .w = largest_of(input.w)};
}

}  // namespace tessera::layernorm_linear
