#pragma once
/// \file
/// A value that hipcc cannot know. hipcc computes everything that depends only on the lane number (positions,
/// addresses, whether an element exists) once and keeps it in registers for all loops. With many rows this needs more
/// registers than a lane has. If the number is hidden, each loop computes these values again. nvcc keeps fewer values
/// and does not need the hint.
///
/// Example, in a lane's code: int const lane = hidden_on_hip(rank);

#include <Kokkos_Macros.hpp>

namespace tessera {

/// Returns `value`. Adds no instruction.
[[nodiscard]] KOKKOS_INLINE_FUNCTION int hidden_on_hip(int value) {
#if defined(__HIP_DEVICE_COMPILE__)
  asm volatile("" : "+v"(value));
#endif
  return value;
}

}  // namespace tessera
