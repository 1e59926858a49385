#pragma once
/// \file
/// Several elements that a thread reads or writes with one access.

#include <Kokkos_Macros.hpp>

#include <cstddef>
#include <cstdint>

namespace tessera::collective {

/// N elements side by side, aligned so that one 4-, 8- or 16-byte access moves them.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  static_assert((N & (N - 1)) == 0, "Tessera: a pack holds a power of two of elements");
  T at[N];

  KOKKOS_FUNCTION T& operator[](int i) { return at[i]; }
  KOKKOS_FUNCTION T const& operator[](int i) const { return at[i]; }
};

/// How many elements a 16-byte access has, the widest of a GPU's thread.
template <class T>
inline constexpr int pack_width = sizeof(T) >= 16 ? 1 : static_cast<int>(16 / sizeof(T));

/// Bytes of the widest vectors of a host's processor that the flags of the build allow.
#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif

/// True if packs of N elements can be read from or written to all of these arrays directly.
template <int N, class... T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION bool is_aligned_for_packs(T const*... data) {
  return ((reinterpret_cast<std::uintptr_t>(data) % (sizeof(T) * N) == 0) && ...);
}

/// The N elements from `data` on as a pack, to be read or written with one access: `data` is aligned for it.
template <int N, class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION Pack<T, N> const& pack_at(T const* data) {
  return *reinterpret_cast<Pack<T, N> const*>(data);
}
template <int N, class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION Pack<T, N>& pack_at(T* data) {
  return *reinterpret_cast<Pack<T, N>*>(data);
}

/// Loads the N elements from `data` on. On a GPU that is one access if `data` is aligned for it, else one for each
/// element. On a host the loop becomes one access, aligned or not.
template <int N, class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION Pack<T, N> load_pack(T const* data) {
  KOKKOS_IF_ON_DEVICE((if (is_aligned_for_packs<N>(data)) return pack_at<N>(data);))
  Pack<T, N> pack;
  for (int e = 0; e < N; ++e) pack[e] = data[e];
  return pack;
}

}  // namespace tessera::collective
