#pragma once
/// \file
/// Words of memory that teams of one launch read while others write them.

#include <Kokkos_Core.hpp>

#include <thread>

namespace tessera::collective {

/// Reads a word that another team writes, as a relaxed atomic. On GPUs a volatile access is such an atomic, and only a
/// plain load, while Kokkos::atomic_load of 4.6 is a compare-and-swap loop, far too slow to poll with.
template <class Word>
[[nodiscard]] KOKKOS_INLINE_FUNCTION Word load_word(Word const* word) {
  KOKKOS_IF_ON_DEVICE((return *const_cast<Word const volatile*>(word);))
  KOKKOS_IF_ON_HOST((return Kokkos::atomic_load(word);))
}

/// Writes a word that other teams read, in the same way.
template <class Word>
KOKKOS_INLINE_FUNCTION void store_word(Word* word, Word value) {
  KOKKOS_IF_ON_DEVICE((*const_cast<Word volatile*>(word) = value;))
  KOKKOS_IF_ON_HOST((Kokkos::atomic_store(word, value);))
}

/// Does nothing for about so long. On AMD's GPUs it pauses for at least 64 cycles, because a wavefront that polls
/// without a pause takes the SIMD unit from those that it waits for. On a host it yields, because the thread that is
/// waited for may have no core.
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
