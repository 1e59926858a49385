#pragma once
/// \file
/// Several elements that a thread reads or writes with one access.

#include <Kokkos_Macros.hpp>

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

/// The number of elements in a 16-byte access, the widest access of a GPU thread.
template <class T>
inline constexpr int pack_width = sizeof(T) >= 16 ? 1 : static_cast<int>(16 / sizeof(T));

/// The widest vector registers, in bytes, that this build's compiler flags allow on the host.
#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif

/// Returns true if all of these pointers are aligned for packs of N elements.
template <int N, class... T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION bool is_aligned_for_packs(T const*... data) {
  return ((reinterpret_cast<std::uintptr_t>(data) % (sizeof(T) * N) == 0) && ...);
}

/// Returns the N elements from `data` on as a pack, which is read or written with one access. `data` must be aligned
/// for it.
template <int N, class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION Pack<T, N> const& pack_at(T const* data) {
  return *reinterpret_cast<Pack<T, N> const*>(data);
}
template <int N, class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION Pack<T, N>& pack_at(T* data) {
  return *reinterpret_cast<Pack<T, N>*>(data);
}

/// Returns the N elements from `data` on. On a GPU this is one access if `data` is aligned for it, otherwise one access
/// per element. On a host the loop becomes one access, aligned or not.
template <int N, class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION Pack<T, N> load_pack(T const* data) {
  KOKKOS_IF_ON_DEVICE((if (is_aligned_for_packs<N>(data)) return pack_at<N>(data);))
  Pack<T, N> pack;
  for (int e = 0; e < N; ++e) pack[e] = data[e];
  return pack;
}

}  // namespace tessera::collective
