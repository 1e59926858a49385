#pragma once
/// \file
/// Unroll pragmas for GPU compilers, for a loop whose index selects registers: an array that a loop indexes lies in
/// memory unless the loop is unrolled. On hosts these macros are empty.

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
