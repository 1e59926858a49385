#pragma once
/// \file
/// A value that hipcc cannot know. hipcc computes only once whatever follows from a lane's number and does not change
/// (places, addresses, whether an element exists), and keeps it for all loops: for many rows that takes more registers
/// than there are. From a hidden number each loop computes these anew. nvcc keeps less, and needs no such hint.
///
/// Example, in a lane's code: int const lane = hidden_on_hip(rank);

#include <Kokkos_Macros.hpp>

namespace tessera {

/// Returns the same value, without an instruction.
[[nodiscard]] KOKKOS_INLINE_FUNCTION int hidden_on_hip(int value) {
#if defined(__HIP_DEVICE_COMPILE__)
  asm volatile("" : "+v"(value));
#endif
  return value;
}

}  // namespace tessera
