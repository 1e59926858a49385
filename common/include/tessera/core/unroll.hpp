#pragma once
/// \file
/// Words to a GPU's compiler, in front of a loop whose index chooses registers: an array that a loop indexes is in memory, unless
/// the loop is unrolled. On hosts they say nothing.

#include <Kokkos_Macros.hpp>

/// To all of them. Kokkos has a word of its own for nvcc, and none for hipcc.
#if defined(KOKKOS_ENABLE_PRAGMA_UNROLL) || defined(__HIP__)
#define TESSERA_UNROLL _Pragma("unroll")
#else
#define TESSERA_UNROLL
#endif

/// To hipcc, where nvcc unrolls the loop without it.
#if defined(__HIP__)
#define TESSERA_UNROLL_ON_HIP _Pragma("unroll")
#else
#define TESSERA_UNROLL_ON_HIP
#endif
