#pragma once
/// \file
/// Memory words that teams of one launch read while other teams write them.

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <thread>
#include <type_traits>

#include <tessera/core/spaces.hpp>

namespace tessera::collective {

/// Reads a word that another team writes, as a relaxed atomic. On GPUs a volatile access is one plain load with this
/// property; Kokkos::atomic_load of 4.6 is a compare-and-swap loop there, too slow for polling.
template <class Word>
[[nodiscard]] KOKKOS_INLINE_FUNCTION Word load_word(Word const* word) {
  KOKKOS_IF_ON_DEVICE((return *const_cast<Word const volatile*>(word);))
  KOKKOS_IF_ON_HOST((return Kokkos::atomic_load(word);))
}

/// Writes a word that other teams read, as a relaxed atomic.
template <class Word>
KOKKOS_INLINE_FUNCTION void store_word(Word* word, Word value) {
  KOKKOS_IF_ON_DEVICE((*const_cast<Word volatile*>(word) = value;))
  KOKKOS_IF_ON_HOST((Kokkos::atomic_store(word, value);))
}

/// Two words that are read and written in one access of 16 bytes. Requires CUDA 12.3 or higher. On a host, where only
/// tests use it, a lock makes the access atomic.
struct alignas(16) WordPair {
  std::uint64_t first;
  std::uint64_t second;
};

/// True if load_word and store_word move a WordPair without a lock.
template <ExecutionSpace Exec>
inline constexpr bool has_word_pairs =
#if defined(KOKKOS_ENABLE_CUDA) && defined(__CUDACC__) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1203
    std::is_same_v<Exec, Kokkos::Cuda>;
#else
    false;
#endif

[[nodiscard]] KOKKOS_INLINE_FUNCTION WordPair load_word([[maybe_unused]] WordPair const* word) {
  WordPair loaded{};
#if defined(__CUDA_ARCH__)
  // PTX guarantees a single access only for one 128-bit element, not for a vector of two words.
  asm volatile("{ .reg .b128 pair; ld.relaxed.gpu.global.b128 pair, [%2]; mov.b128 {%0, %1}, pair; }"
               : "=l"(loaded.first), "=l"(loaded.second)
               : "l"(word)
               : "memory");
#else
  KOKKOS_IF_ON_HOST((loaded = Kokkos::atomic_load(word);))
#endif
  return loaded;
}

KOKKOS_INLINE_FUNCTION void store_word([[maybe_unused]] WordPair* word, [[maybe_unused]] WordPair value) {
#if defined(__CUDA_ARCH__)
  asm volatile(
      "{ .reg .b128 pair; mov.b128 pair, {%0, %1}; st.relaxed.gpu.global.b128 [%2], pair; }" ::"l"(value.first),
      "l"(value.second), "l"(word)
      : "memory");
#else
  KOKKOS_IF_ON_HOST((Kokkos::atomic_store(word, value);))
#endif
}

/// Waits for about `nanoseconds`. On AMD GPUs it pauses for at least 64 cycles: a wavefront that polls without a pause
/// blocks the SIMD unit for the wavefronts that it waits for. On a host it yields, because the awaited thread may have
/// no core.
KOKKOS_INLINE_FUNCTION void back_off([[maybe_unused]] unsigned nanoseconds) {
#if defined(__CUDA_ARCH__)
  if (nanoseconds > 0) __nanosleep(nanoseconds);
#elif defined(__HIP_DEVICE_COMPILE__)
  if (nanoseconds == 0) __builtin_amdgcn_s_sleep(1);
  for (unsigned spent = 0; spent < nanoseconds; spent += 256) __builtin_amdgcn_s_sleep(8);  // 512 cycles
#else
  std::this_thread::yield();
#endif
}

}  // namespace tessera::collective
