#pragma once
/// \file
/// Adding to a counter in a team's scratch, where nobody asks what was there before.

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace tessera::collective {

/// Adds atomically. The counter is in scratch level 0: on CUDA the instruction for shared memory is named, since an
/// atomic of an address of unknown kind asks for the kind each time. Who calls: any lane. Others see the sum after a
/// barrier.
KOKKOS_INLINE_FUNCTION void scratch_add(std::uint32_t* counter, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  auto const address = static_cast<std::uint32_t>(__cvta_generic_to_shared(counter));
  asm volatile("red.shared.add.u32 [%0], %1;" : : "r"(address), "r"(value) : "memory");
#else
  Kokkos::atomic_add(counter, value);
#endif
}

}  // namespace tessera::collective
