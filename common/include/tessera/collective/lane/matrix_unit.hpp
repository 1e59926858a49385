#pragma once
/// \file
/// Products of small matrices by 32 lanes together, on a GPU's matrix units (tensor cores): c += a b, a [16, depth], b [depth, 8],
/// c [16, 8], with sums in float and factors of one of three types:
///
///     Tf32       depth 8,  11 significant bits, float's range of exponents; in a register of 32 bits
///     Half       depth 16, 11 significant bits, up to 65504; two in a register
///     BFloat16   depth 16,  8 significant bits, float's range of exponents; two in a register
///
/// Products are exact; a matrix unit adds those of one element and c's with at least 24 bits, cutting off what is below (no
/// rounding to nearest).
///
/// A lane holds some elements of each matrix. With g = lane / 4 and t = lane % 4:
///
///     a of Tf32          (g, t)  (g + 8, t)  (g, t + 4)  (g + 8, t + 4)
///     b of Tf32          (t, g)  (t + 4, g)
///     a of 16 bits       (g, 2 t ..)  (g + 8, 2 t ..)  (g, 2 t + 8 ..)  (g + 8, 2 t + 8 ..)     each and its right neighbour
///     b of 16 bits       (2 t .., g)  (2 t + 8 .., g)                                           each and the one below it
///     c                  (g, 2 t)  (g, 2 t + 1)  (g + 8, 2 t)  (g + 8, 2 t + 1)
///
/// Two models, chosen by the kind of lanes: CUDA's mma.sync, from compute capability 8.0 on (has_matrix_units()); and for
/// emulated lanes a loop over the elements that takes them from the lanes as above, for tests.
///
/// Who calls: all 32 lanes together. Scratch: none. Barriers: none.
///
/// Example: where every element of a and b is 1, multiply_add adds `depth` to each element of c.
///
/// Source: NVIDIA, PTX ISA, "Matrix Fragments for mma.m16n8k8" and "mma.m16n8k16 with floating point type"; M. Fasi, N. Higham,
/// M. Mikaitis, S. Pranesh, Numerical behavior of NVIDIA tensor cores, PeerJ Computer Science 7, 2021.

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstdint>
#include <cstring>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/half.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::collective {

/// Factors of 11 significant bits, each in a float.
struct Tf32 {};

/// What a lane holds of c.
struct SumFragment {
  float at[4];
};

/// Rows, columns and sums, which all units have in common.
struct AnyMatrixUnit {
  static constexpr int lanes = 32;
  static constexpr int rows = 16;
  static constexpr int cols = 8;
  using C = SumFragment;

  /// Where a lane's i-th element of c stands.
  [[nodiscard]] KOKKOS_FUNCTION static int row_of_c(int lane, int i) { return lane / 4 + 8 * (i / 2); }
  [[nodiscard]] KOKKOS_FUNCTION static int col_of_c(int lane, int i) { return 2 * (lane % 4) + i % 2; }
};

/// The unit for factors of 16 bits: Half or BFloat16. A fragment is words of two factors, the lower half first.
template <class Factor>
struct MatrixUnit : AnyMatrixUnit {
  static_assert(std::same_as<Factor, Half> || std::same_as<Factor, BFloat16>,
                "Tessera: no matrix unit has such factors");
  static constexpr int depth = 16;
  template <int Words>
  struct Pairs {
    static constexpr int elements = 2 * Words;
    std::uint32_t at[Words];
    [[nodiscard]] KOKKOS_FUNCTION float element(int i) const {
      auto const half = static_cast<std::uint16_t>(at[i / 2] >> 16 * (i % 2));
      return static_cast<float>(Kokkos::bit_cast<Factor>(half));
    }
  };
  using A = Pairs<4>;
  using B = Pairs<2>;

  /// Two factors as a word.
  [[nodiscard]] KOKKOS_FUNCTION static std::uint32_t word(Factor const& low, Factor const& high) {
    return Kokkos::bit_cast<std::uint16_t>(low) | static_cast<std::uint32_t>(Kokkos::bit_cast<std::uint16_t>(high))
                                                      << 16;
  }

  /// The same of floats, which are rounded to nearest.
  [[nodiscard]] KOKKOS_FUNCTION static std::uint32_t word(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint32_t both = 0;  // one instruction
    if constexpr (std::same_as<Factor, Half>) {
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    } else {
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    }
    return both;
#else
    return word(Factor(low), Factor(high));
#endif
  }

  /// Where a lane's i-th element of a factor stands.
  [[nodiscard]] KOKKOS_FUNCTION static int row_of_a(int lane, int i) { return lane / 4 + 8 * (i / 2 % 2); }
  [[nodiscard]] KOKKOS_FUNCTION static int col_of_a(int lane, int i) { return 2 * (lane % 4) + i % 2 + 8 * (i / 4); }
  [[nodiscard]] KOKKOS_FUNCTION static int row_of_b(int lane, int i) { return 2 * (lane % 4) + i % 2 + 8 * (i / 2); }
  [[nodiscard]] KOKKOS_FUNCTION static int col_of_b(int lane, int) { return lane / 4; }
};

/// The unit for factors in a float each.
template <>
struct MatrixUnit<Tf32> : AnyMatrixUnit {
  static constexpr int depth = 8;
  template <int N>
  struct Floats {
    static constexpr int elements = N;
    float at[N];
    [[nodiscard]] KOKKOS_FUNCTION float element(int i) const { return at[i]; }
  };
  using A = Floats<4>;
  using B = Floats<2>;

  [[nodiscard]] KOKKOS_FUNCTION static int row_of_a(int lane, int i) { return lane / 4 + 8 * (i % 2); }
  [[nodiscard]] KOKKOS_FUNCTION static int col_of_a(int lane, int i) { return lane % 4 + 4 * (i / 2); }
  [[nodiscard]] KOKKOS_FUNCTION static int row_of_b(int lane, int i) { return lane % 4 + 4 * i; }
  [[nodiscard]] KOKKOS_FUNCTION static int col_of_b(int lane, int) { return lane / 4; }

  /// Numbers that tf32 represents to 11 bits, and whose remainder to 11 more: all between these two, and 0. Products of two
  /// of them, or of one and a remainder (2^-24 of the least), do not underflow.
  static constexpr float smallest = 0x1p-50F;
  static constexpr float largest = 0x1p126F;
};

/// The nearest tf32 to a number that is 0 or between MatrixUnit<Tf32>::smallest and largest; ties go away from 0.
[[nodiscard]] KOKKOS_INLINE_FUNCTION float to_tf32(float value) {
  // Two instructions on integers: the GPU's own conversion (cvt.rna.tf32) runs at an eighth of their rate.
  std::uint32_t bits = Kokkos::bit_cast<std::uint32_t>(value);
  bits = (bits + 0x1000U) & 0xffff'e000U;
  return Kokkos::bit_cast<float>(bits);
}

/// The next tf32 to such a number, or to 0, towards 0.
[[nodiscard]] KOKKOS_INLINE_FUNCTION float cut_to_tf32(float value) {
  return Kokkos::bit_cast<float>(Kokkos::bit_cast<std::uint32_t>(value) & 0xffff'e000U);
}

// c += a b, or c = a b, by the instruction for two factors of TYPE a register.
#define TESSERA_MMA_16(TYPE)                                                          \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE                 \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(c.at[0]), "+f"(c.at[1]), "+f"(c.at[2]), "+f"(c.at[3])           \
               : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b.at[0]), "r"(b.at[1]))
#define TESSERA_MMA_16_OF_0(TYPE)                                                         \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE                     \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};" \
               : "=f"(c.at[0]), "=f"(c.at[1]), "=f"(c.at[2]), "=f"(c.at[3])               \
               : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b.at[0]), "r"(b.at[1]), "f"(0.0F))

/// c += a b. The elements of a and b are factors of the unit.
template <class Factor>
KOKKOS_INLINE_FUNCTION void multiply_add(MatrixUnit<Factor>, lane::Hardware<AnyMatrixUnit::lanes> const&,
                                         SumFragment& c, typename MatrixUnit<Factor>::A const& a,
                                         typename MatrixUnit<Factor>::B const& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // volatile: all lanes take part, so it must not be moved to where only some of them go.
  if constexpr (std::same_as<Factor, Tf32>) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(c.at[0]), "+f"(c.at[1]), "+f"(c.at[2]), "+f"(c.at[3])
        : "r"(__float_as_uint(a.at[0])), "r"(__float_as_uint(a.at[1])), "r"(__float_as_uint(a.at[2])),
          "r"(__float_as_uint(a.at[3])), "r"(__float_as_uint(b.at[0])), "r"(__float_as_uint(b.at[1])));
  } else if constexpr (std::same_as<Factor, Half>) {
    TESSERA_MMA_16("f16");
  } else {
    TESSERA_MMA_16("bf16");
  }
#else
  (void)c, (void)a, (void)b;
#endif
}

/// c = a b.
template <class Factor>
KOKKOS_INLINE_FUNCTION void multiply(MatrixUnit<Factor>, lane::Hardware<AnyMatrixUnit::lanes> const&, SumFragment& c,
                                     typename MatrixUnit<Factor>::A const& a, typename MatrixUnit<Factor>::B const& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // The register that is always 0, instead of four that are made so.
  if constexpr (std::same_as<Factor, Tf32>) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, "
        "%10, %10};"
        : "=f"(c.at[0]), "=f"(c.at[1]), "=f"(c.at[2]), "=f"(c.at[3])
        : "r"(__float_as_uint(a.at[0])), "r"(__float_as_uint(a.at[1])), "r"(__float_as_uint(a.at[2])),
          "r"(__float_as_uint(a.at[3])), "r"(__float_as_uint(b.at[0])), "r"(__float_as_uint(b.at[1])), "f"(0.0F));
  } else if constexpr (std::same_as<Factor, Half>) {
    TESSERA_MMA_16_OF_0("f16");
  } else {
    TESSERA_MMA_16_OF_0("bf16");
  }
#else
  (void)c, (void)a, (void)b;
#endif
}
#undef TESSERA_MMA_16
#undef TESSERA_MMA_16_OF_0

template <class Factor>
KOKKOS_INLINE_FUNCTION void multiply_add(MatrixUnit<Factor>, lane::Emulated<AnyMatrixUnit::lanes> const&,
                                         lane::Values<SumFragment, AnyMatrixUnit::lanes>& c,
                                         lane::Values<typename MatrixUnit<Factor>::A, AnyMatrixUnit::lanes> const& a,
                                         lane::Values<typename MatrixUnit<Factor>::B, AnyMatrixUnit::lanes> const& b) {
  using M = MatrixUnit<Factor>;
  float whole_a[M::rows][M::depth];
  float whole_b[M::depth][M::cols];
  for (int lane = 0; lane < M::lanes; ++lane) {
    for (int i = 0; i < M::A::elements; ++i) {
      whole_a[M::row_of_a(lane, i)][M::col_of_a(lane, i)] = a.at[lane].element(i);
    }
    for (int i = 0; i < M::B::elements; ++i) {
      whole_b[M::row_of_b(lane, i)][M::col_of_b(lane, i)] = b.at[lane].element(i);
    }
  }
  for (int lane = 0; lane < M::lanes; ++lane) {
    for (int i = 0; i < 4; ++i) {
      double sum = static_cast<double>(c.at[lane].at[i]);
      for (int k = 0; k < M::depth; ++k) {
        sum += static_cast<double>(whole_a[M::row_of_c(lane, i)][k]) *
               static_cast<double>(whole_b[k][M::col_of_c(lane, i)]);
      }
      c.at[lane].at[i] = static_cast<float>(sum);
    }
  }
}

template <class Factor>
KOKKOS_INLINE_FUNCTION void multiply(MatrixUnit<Factor> unit, lane::Emulated<AnyMatrixUnit::lanes> const& lanes,
                                     lane::Values<SumFragment, AnyMatrixUnit::lanes>& c,
                                     lane::Values<typename MatrixUnit<Factor>::A, AnyMatrixUnit::lanes> const& a,
                                     lane::Values<typename MatrixUnit<Factor>::B, AnyMatrixUnit::lanes> const& b) {
  c = lanes.fill(SumFragment{});
  multiply_add(unit, lanes, c, a, b);
}

/// Whether there is code for kernels with matrix units in the space: CUDA's, or the emulation on hosts.
template <ExecutionSpace Exec>
inline constexpr bool can_have_matrix_units =
#if defined(KOKKOS_ENABLE_CUDA)
    std::same_as<Exec, Kokkos::Cuda> ||
#endif
    !is_gpu<Exec>;

/// Whether the device has matrix units that multiply_add asks.
template <ExecutionSpace Exec>
[[nodiscard]] bool has_matrix_units([[maybe_unused]] Exec const& exec) {
#if defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ARCH_MAXWELL) && !defined(KOKKOS_ARCH_PASCAL) && \
    !defined(KOKKOS_ARCH_VOLTA) && !defined(KOKKOS_ARCH_TURING75)
  if constexpr (std::same_as<Exec, Kokkos::Cuda>) return exec.cuda_device_prop().major >= 8;
#endif
  return false;
}

}  // namespace tessera::collective
