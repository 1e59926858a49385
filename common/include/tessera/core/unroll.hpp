#pragma once
/// \file
/// Unrolled loops for GPU compilers, for loops whose index selects registers: an array that a loop indexes lies in
/// memory unless the loop is unrolled. On hosts the pragmas are empty.

#include <Kokkos_Macros.hpp>

/// For all GPU compilers. Kokkos' macro supports nvcc but not hipcc.
#if defined(KOKKOS_ENABLE_PRAGMA_UNROLL) || defined(__HIP__)
#define TESSERA_UNROLL _Pragma("unroll")
#else
#define TESSERA_UNROLL
#endif

/// For hipcc only, if nvcc unrolls the loop without a pragma.
#if defined(__HIP__)
#define TESSERA_UNROLL_ON_HIP _Pragma("unroll")
#else
#define TESSERA_UNROLL_ON_HIP
#endif

namespace tessera {

/// Calls body(i, j, ...) for all 0 <= i < Count, 0 <= j < Inner..., the last index fastest, in loops that GPU compilers
/// unroll.
///
/// Example: unrolled<2, 2>(body) calls body(0, 0), body(0, 1), body(1, 0), body(1, 1).
template <int Count, int... Inner, class Body>
KOKKOS_FORCEINLINE_FUNCTION void unrolled(Body const& body) {
  TESSERA_UNROLL
  for (int i = 0; i < Count; ++i) {
    if constexpr (sizeof...(Inner) == 0) {
      body(i);
    } else {
      unrolled<Inner...>([&](auto... inner) { body(i, inner...); });
    }
  }
}

}  // namespace tessera
