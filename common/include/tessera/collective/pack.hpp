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

/// Elements in a 16-byte access: the widest that a GPU's thread has.
template <class T>
inline constexpr int pack_width = sizeof(T) >= 16 ? 1 : static_cast<int>(16 / sizeof(T));

/// True if packs of N elements can be read from or written to `data` directly.
template <int N, class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION bool is_aligned_for_packs(T const* data) {
  return reinterpret_cast<std::uintptr_t>(data) % (sizeof(T) * N) == 0;
}

}  // namespace tessera::collective
