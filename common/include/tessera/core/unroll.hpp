#pragma once
/// \file
/// Unrolling for a GPU's compiler, in front of a loop whose index chooses registers: an array that a loop indexes lies
/// in memory unless the loop is unrolled. On hosts these macros are empty.

#include <Kokkos_Macros.hpp>

/// For all GPU compilers. Kokkos has a macro for nvcc, and none for hipcc.
#if defined(KOKKOS_ENABLE_PRAGMA_UNROLL) || defined(__HIP__)
#define TESSERA_UNROLL _Pragma("unroll")
#else
#define TESSERA_UNROLL
#endif

/// For hipcc only, where nvcc unrolls the loop by itself.
#if defined(__HIP__)
#define TESSERA_UNROLL_ON_HIP _Pragma("unroll")
#else
#define TESSERA_UNROLL_ON_HIP
#endif
