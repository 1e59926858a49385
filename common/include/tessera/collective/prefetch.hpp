#pragma once
/// \file
/// Prefetches memory into a GPU's last-level cache.
///
/// A team that reads, then waits for other threads or teams, then writes, leaves the memory idle while it waits. If it
/// prefetches what a later team will read, memory stays busy. A prefetch needs no registers.

#include <Kokkos_Core.hpp>

#include <cstddef>

namespace tessera::collective {

/// Calls body(i) for this lane's elements i < count that begin a line of 128 bytes: lane `lane` of `lanes` takes every
/// `lanes`-th line.
///
/// Example, 4 lanes, 600 floats (19 lines of 32): lane 0 gets 0 128 256 384 512, lane 3 gets 96 224 352 480.
template <class T, class Body>
KOKKOS_FUNCTION void each_line(std::size_t count, int lane, int lanes, Body const& body) {
  constexpr std::size_t line = sizeof(T) < 128 ? 128 / sizeof(T) : 1;
  for (std::size_t i = static_cast<std::size_t>(lane) * line; i < count; i += static_cast<std::size_t>(lanes) * line)
    body(i);
}

/// Prefetches `count` elements of an array, beginning at `first`. If `first` is not at the beginning of a memory line,
/// the last line may be omitted. Does nothing on hosts, whose hardware prefetches contiguous reads, and on AMD gfx90a
/// and gfx942, which have no prefetch instruction.
///
/// Must be called by all `lanes` lanes that share the elements, each with its own `lane`. No scratch, no barriers.
template <class T>
KOKKOS_INLINE_FUNCTION void prefetch([[maybe_unused]] T const* first, [[maybe_unused]] std::size_t count,
                                     [[maybe_unused]] int lane, [[maybe_unused]] int lanes) {
#if defined(__CUDA_ARCH__)
  each_line<T>(count, lane, lanes, [&](std::size_t i) { asm volatile("prefetch.global.L2 [%0];" ::"l"(first + i)); });
#endif
}

}  // namespace tessera::collective
