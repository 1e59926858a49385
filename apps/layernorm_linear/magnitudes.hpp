#pragma once
/// \file
/// Whether a layer's factors may leave the range of those of matrix units.

#include <Kokkos_Core.hpp>

#include <cstddef>

#include "problem.hpp"

#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::layernorm_linear {

/// The largest magnitude; NaN is none.
template <class Field>
struct LargestMagnitude {
  Field field;

  KOKKOS_FUNCTION void operator()(std::size_t i, float& largest) const {
    float const value = field.data()[i];
    float const magnitude = value < 0 ? -value : value;
    if (magnitude > largest) largest = magnitude;
  }
};
/// Waits for it. 0 if there is none.
template <ExecutionSpace Exec, class Field>
[[nodiscard]] float largest_magnitude(Exec const& exec, Field const& field) {
  float largest = 0;
  Kokkos::parallel_reduce("tessera::layernorm_linear::largest_magnitude",
                          Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, 0, field.size()),
                          LargestMagnitude<Field>{field}, Kokkos::Max<float>(largest));
  return field.size() == 0 ? 0 : largest;
}

/// The largest magnitude of w, if neither w nor an ln is infinite or rounds to infinity; else throws Skip: of an infinity the second
/// term of a factor would be no number. Waits.
template <ExecutionSpace Exec>
[[nodiscard]] float largest_factor(Exec const& exec, InputOn<LayernormLinear, Exec, float> const& input) {
  constexpr float most = 0x1p100F;
  float const w = largest_magnitude(exec, input.w);
  if (w > most || largest_magnitude(exec, input.gamma) > most || largest_magnitude(exec, input.beta) > most) {
    throw Skip("elements of w, gamma and beta up to 2^100 (factors may round to infinity beyond)");
  }
  return w;
}

}  // namespace tessera::layernorm_linear
