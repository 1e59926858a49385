#pragma once
/// \file
/// Asks for memory that will be needed soon, so that it is in a GPU's last cache by then.
///
/// A team that reads, then waits for its other threads or for other teams, then writes, leaves the memory idle in between. If each
/// team asks early for what is read next, by itself or by the team that starts later, the memory works on. What was asked for takes
/// no registers.
///
/// Example, 4 lanes, 600 floats (2400 bytes, 19 lines of 128): lane 0 asks for lines 0 4 8 12 16, lane 3 for 3 7 11 15.

#include <Kokkos_Core.hpp>

#include <cstddef>

namespace tessera::collective {

/// Asks for elements first .. first + count - 1, which must all be in an array. Without effect on hosts, whose hardware foresees
/// contiguous reads by itself, and on AMD's GPUs, which have no such request.
///
/// Who calls: lane `lane` of `lanes` that share the elements. Scratch, barriers: none.
template <class T>
KOKKOS_INLINE_FUNCTION void prefetch([[maybe_unused]] T const* first, [[maybe_unused]] std::size_t count,
                                     [[maybe_unused]] int lane, [[maybe_unused]] int lanes) {
#if defined(__CUDA_ARCH__)
  constexpr std::size_t line = 128 / sizeof(T);  // what one request brings
  for (std::size_t i = static_cast<std::size_t>(lane) * line; i < count; i += static_cast<std::size_t>(lanes) * line) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(first + i));
  }
#endif
}

}  // namespace tessera::collective
