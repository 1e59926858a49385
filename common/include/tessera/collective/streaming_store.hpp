#pragma once
/// \file
/// Stores that bypass a host's caches. An ordinary store first reads the cache line that it overwrites, which costs a
/// write-dominated kernel up to half of the bandwidth.

#include <Kokkos_Core.hpp>

#include <cstddef>

#include <unistd.h>

#include <tessera/collective/pack.hpp>
#include <tessera/core/spaces.hpp>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tessera::collective {

/// Returns true if an output of `bytes` bytes should be written with streaming stores: the host supports them and the
/// output does not fit the last-level cache. Call it on the host.
template <ExecutionSpace Exec>
[[nodiscard]] bool streams(std::size_t bytes) {
#if defined(__SSE2__) && defined(_SC_LEVEL3_CACHE_SIZE)
  static long const last_cache = is_gpu<Exec> ? 0 : sysconf(_SC_LEVEL3_CACHE_SIZE);
  return last_cache > 0 && bytes > static_cast<std::size_t>(last_cache);
#else
  (void)bytes;
  return false;
#endif
}

/// Stores a pack to `to`, which must be aligned to 16 bytes. Other threads see it after the calling thread has called
/// `streaming_fence`. On a GPU, and on hosts without streaming stores, it is an ordinary store. May be called by any
/// thread.
template <class T, int N>
KOKKOS_INLINE_FUNCTION void streaming_store(T* to, Pack<T, N> const& values) {
  static_assert(sizeof(T) * N == 16, "Tessera: a streaming store moves 16 bytes");
  KOKKOS_IF_ON_DEVICE((pack_at<N>(to) = values;))
#if defined(__SSE2__)
  KOKKOS_IF_ON_HOST(
      (_mm_stream_si128(reinterpret_cast<__m128i*>(to), _mm_load_si128(reinterpret_cast<__m128i const*>(&values)));))
#else
  KOKKOS_IF_ON_HOST((pack_at<N>(to) = values;))
#endif
}

/// Orders the calling thread's streaming stores before its later memory accesses. Tests cannot detect a missing fence:
/// on x86 every team barrier and every end of a launch contains a locked instruction, which orders these stores, too.
KOKKOS_INLINE_FUNCTION void streaming_fence() {
#if defined(__SSE2__)
  KOKKOS_IF_ON_HOST((_mm_sfence();))
#endif
}

}  // namespace tessera::collective
