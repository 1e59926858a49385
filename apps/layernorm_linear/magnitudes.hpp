#pragma once
/// \file
/// Whether a layer's factors may leave the range of those of matrix units.

#include "problem.hpp"

#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/largest_magnitude.hpp>

namespace tessera::layernorm_linear {

/// The largest magnitude of w, if neither w nor an ln is infinite or rounds to infinity; else throws Skip: of an infinity the second
/// term of a factor would be no number. Waits.
template <ExecutionSpace Exec>
[[nodiscard]] float largest_factor(Exec const& exec, InputOn<LayernormLinear, Exec, float> const& input) {
  using kernels::largest_magnitude;
  constexpr float most = 0x1p100F;
  float const w = largest_magnitude(exec, input.w);
  if (w > most || largest_magnitude(exec, input.gamma) > most || largest_magnitude(exec, input.beta) > most) {
    throw Skip("elements of w, gamma and beta up to 2^100 (factors may round to infinity beyond)");
  }
  return w;
}

}  // namespace tessera::layernorm_linear
