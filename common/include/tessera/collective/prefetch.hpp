#pragma once
/// \file
/// Asks for memory that will be needed soon, so that it is in a GPU's last cache by then.
///
/// A team that reads, then waits for other threads or other teams, then writes, leaves the memory idle while it waits.
/// If it asks early for what a team that starts later will read, the memory works on. A request takes no registers.

#include <Kokkos_Core.hpp>

#include <cstddef>

namespace tessera::collective {

/// Calls body(i) for every element i < count that begins a line of 128 bytes, as far as that line is this lane's: lane
/// `lane` of `lanes` takes every `lanes`-th line.
///
/// Example, 4 lanes, 600 floats (19 lines of 32): lane 0 gets 0 128 256 384 512, lane 3 gets 96 224 352 480.
template <class T, class Body>
KOKKOS_FUNCTION void each_line(std::size_t count, int lane, int lanes, Body const& body) {
  constexpr std::size_t line = sizeof(T) < 128 ? 128 / sizeof(T) : 1;
  for (std::size_t i = static_cast<std::size_t>(lane) * line; i < count; i += static_cast<std::size_t>(lanes) * line)
    body(i);
}

/// Asks for `count` elements of an array, from `first` on. If `first` is not at the begin of a line of memory, the last
/// line may be left out. Does nothing on hosts, whose hardware foresees contiguous reads by itself, and on AMD's gfx90a
/// and gfx942, which have no such request.
///
/// Who calls: lane `lane` of `lanes` that share the elements. Scratch, barriers: none.
template <class T>
KOKKOS_INLINE_FUNCTION void prefetch([[maybe_unused]] T const* first, [[maybe_unused]] std::size_t count,
                                     [[maybe_unused]] int lane, [[maybe_unused]] int lanes) {
#if defined(__CUDA_ARCH__)
  each_line<T>(count, lane, lanes, [&](std::size_t i) { asm volatile("prefetch.global.L2 [%0];" ::"l"(first + i)); });
#endif
}

}  // namespace tessera::collective
