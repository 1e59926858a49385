#pragma once
/// \file
/// Atomic operations on words in a team's scratch.

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace tessera::team {

/// Atomically adds to a counter in a team's scratch, level 0, without returning the old value.
///
/// On CUDA it names the instruction for shared memory, because an atomic on a generic address tests the kind of address
/// each time. Any lane may call it. Other lanes see the sum after a barrier.
KOKKOS_INLINE_FUNCTION void scratch_add(std::uint32_t* counter, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  auto const address = static_cast<std::uint32_t>(__cvta_generic_to_shared(counter));
  asm volatile("red.shared.add.u32 [%0], %1;" : : "r"(address), "r"(value) : "memory");
#else
  Kokkos::atomic_add(counter, value);
#endif
}

/// Atomically sets bits of a word. Otherwise as scratch_add.
KOKKOS_INLINE_FUNCTION void scratch_or(std::uint32_t* word, std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  auto const address = static_cast<std::uint32_t>(__cvta_generic_to_shared(word));
  asm volatile("red.shared.or.b32 [%0], %1;" : : "r"(address), "r"(bits) : "memory");
#else
  Kokkos::atomic_or(word, bits);
#endif
}

}  // namespace tessera::team
