#pragma once
/// \file
/// A value that hipcc cannot know. What is computed from a lane's number and does not change (places, addresses, whether there
/// is an element) hipcc computes once, before loops or for all of them, and keeps: of many rows that is more than there are
/// registers. From a hidden number each loop computes its own. nvcc keeps less, and is not told.
///
/// Example, in a lane's code: int const lane = hidden_on_hip(rank);

#include <Kokkos_Macros.hpp>

namespace tessera {

/// The same value. No instruction.
[[nodiscard]] KOKKOS_INLINE_FUNCTION int hidden_on_hip(int value) {
#if defined(__HIP_DEVICE_COMPILE__)
  asm volatile("" : "+v"(value));
#endif
  return value;
}

}  // namespace tessera
