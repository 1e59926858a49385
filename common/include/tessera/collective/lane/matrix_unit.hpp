#pragma once
/// \file
/// Products of small matrices on a GPU's matrix units (NVIDIA's tensor cores, AMD's MFMA), by all lanes of a warp (32)
/// or wavefront (64): c += a b, a [16, depth], b [depth, cols], c [16, cols]. cols is 8 with 32 lanes and 16 with 64.
/// Sums are floats. There are three types of factors:
///
///     Tf32       depth 8,  11 significant bits, float's range of exponents; in a register of 32 bits
///     Half       depth 16, 11 significant bits, up to 65504; two in a register
///     BFloat16   depth 16,  8 significant bits, float's range of exponents; two in a register
///
/// Products are exact. A matrix unit adds the products of one element and c's with at least 24 bits, and truncates the
/// bits below (no rounding to nearest). Units of 64 lanes may treat factors and sums below the normal range of their
/// type as 0 (`flushes`).
///
/// Each lane holds some elements of each matrix. With 32 lanes, g = lane / 4 and t = lane % 4:
///
///     a of Tf32      (g, t)  (g + 8, t)  (g, t + 4)  (g + 8, t + 4)
///     b of Tf32      (t, g)  (t + 4, g)
///     a of 16 bits   (g, 2 t ..)  (g + 8, 2 t ..)  (g, 2 t + 8 ..)  (g + 8, 2 t + 8 ..)  each and its right neighbour
///     b of 16 bits   (2 t .., g)  (2 t + 8 .., g)                                        each and the one below it
///     c              (g, 2 t)  (g, 2 t + 1)  (g + 8, 2 t)  (g + 8, 2 t + 1)
///
/// With 64 lanes, g = lane % 16 and t = lane / 16:
///
///     a of Tf32      (g, 2 t)  (g, 2 t + 1)
///     b of Tf32      (2 t, g)  (2 t + 1, g)
///     a of 16 bits   (g, 4 t) ... (g, 4 t + 3)
///     b of 16 bits   (4 t, g) ... (4 t + 3, g)
///     c              (g, 4 t) ... (g, 4 t + 3)
///
/// A kernel uses the same source for both, in terms of g (line_of) and t (four_of): a lane has the rows g, g + lines,
/// ... of a, the same columns of b, and a quarter of depth.
///
/// Three models, selected by the type of lanes:
/// - CUDA's mma.sync, compute capability 8.0 or higher;
/// - AMD's MFMA on gfx90a and gfx942 (see has_matrix_units()), compiled but not yet run on AMD hardware;
/// - emulated lanes, for tests: a loop over the elements, which takes them from the lanes as above.
///
/// Must be called by all lanes together. No scratch, no barriers.
///
/// Example: if every element of a and b is 1, multiply_add adds `depth` to each element of c.
///
/// Source: NVIDIA, PTX ISA, "Matrix Fragments for mma.m16n8k8" and "mma.m16n8k16 with floating point type"; AMD,
/// Instinct MI300 Instruction Set Architecture, "Matrix Arithmetic Instructions"; M. Fasi, N. Higham, M. Mikaitis, S.
/// Pranesh, Numerical behavior of NVIDIA tensor cores, PeerJ Computer Science 7, 2021.

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstdint>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/half.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/unroll.hpp>

namespace tessera::collective {

/// Factors of 11 significant bits, each stored in a float.
struct Tf32 {};

/// A lane's elements of c.
struct SumFragment {
  float at[4];
};

/// The number of lanes of a space's matrix units: a wavefront on AMD GPUs, otherwise a warp, which hosts emulate.
template <class Exec>
inline constexpr int matrix_lanes =
#if defined(KOKKOS_ENABLE_HIP)
    std::same_as<Exec, Kokkos::HIP> ? 64 :
#endif
                                    32;

/// The common part of all units with `Lanes` lanes.
template <int Lanes>
struct AnyMatrixUnit {
  static_assert(Lanes == 32 || Lanes == 64, "Tessera: matrix units need warps of 32 or wavefronts of 64 lanes");
  static constexpr int lanes = Lanes;
  static constexpr int lines = Lanes / 4;
  static constexpr int rows = 16;
  static constexpr int cols = lines;
  static constexpr int groups = rows / lines;   ///< groups of rows: a lane has one row of each
  static constexpr bool flushes = Lanes == 64;  ///< numbers below the normal range of their type may become 0
  using C = SumFragment;

  /// g: a lane's row in the first group, and its column.
  [[nodiscard]] KOKKOS_FUNCTION static int line_of(int lane) { return Lanes == 32 ? lane / 4 : lane % 16; }
  /// t: the lane's quarter of depth, and of c's columns.
  [[nodiscard]] KOKKOS_FUNCTION static int four_of(int lane) { return Lanes == 32 ? lane % 4 : lane / 16; }

  /// Returns the value that the emulated unit uses for a number whose type is normal from `least` on: it flushes to 0
  /// whenever hardware may.
  [[nodiscard]] KOKKOS_FUNCTION static float flushed(float value, float least) {
    return flushes && value < least && value > -least ? 0.0F : value;
  }

  /// The row and column of a lane's i-th element of c.
  [[nodiscard]] KOKKOS_FUNCTION static int row_of_c(int lane, int i) {
    return line_of(lane) + (Lanes == 32 ? 8 * (i / 2) : 0);
  }
  [[nodiscard]] KOKKOS_FUNCTION static int col_of_c(int lane, int i) {
    return Lanes == 32 ? 2 * four_of(lane) + i % 2 : 4 * four_of(lane) + i;
  }
};

/// The unit for factors of 16 bits: Half or BFloat16. A fragment consists of words with two factors each, the first
/// factor in the lower half.
template <class Factor, int Lanes = 32>
struct MatrixUnit : AnyMatrixUnit<Lanes> {
  static_assert(std::same_as<Factor, Half> || std::same_as<Factor, BFloat16>,
                "Tessera: no matrix unit has such factors");
  static constexpr int depth = 16;
  static constexpr float least_normal = std::same_as<Factor, Half> ? 0x1p-14F : 0x1p-126F;
  template <int Words>
  struct Pairs {
    static constexpr int elements = 2 * Words;
    std::uint32_t at[Words];
    [[nodiscard]] KOKKOS_FUNCTION float element(int i) const {
      auto const half = static_cast<std::uint16_t>(at[i / 2] >> 16 * (i % 2));
      return static_cast<float>(Kokkos::bit_cast<Factor>(half));
    }
  };
  using A = Pairs<128 / Lanes>;
  using B = Pairs<2>;

  /// Packs two factors into a word.
  [[nodiscard]] KOKKOS_FUNCTION static std::uint32_t word(Factor const& low, Factor const& high) {
    return Kokkos::bit_cast<std::uint16_t>(low) | static_cast<std::uint32_t>(Kokkos::bit_cast<std::uint16_t>(high))
                                                      << 16;
  }

  /// Rounds two floats to nearest and packs them into a word.
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

  /// The row and column of a lane's i-th element of a or b.
  [[nodiscard]] KOKKOS_FUNCTION static int row_of_a(int lane, int i) {
    return Lanes == 32 ? lane / 4 + 8 * (i / 2 % 2) : lane % 16;
  }
  [[nodiscard]] KOKKOS_FUNCTION static int col_of_a(int lane, int i) {
    return Lanes == 32 ? 2 * (lane % 4) + i % 2 + 8 * (i / 4) : 4 * (lane / 16) + i;
  }
  [[nodiscard]] KOKKOS_FUNCTION static int row_of_b(int lane, int i) {
    return Lanes == 32 ? 2 * (lane % 4) + i % 2 + 8 * (i / 2) : 4 * (lane / 16) + i;
  }
  [[nodiscard]] KOKKOS_FUNCTION static int col_of_b(int lane, int) { return AnyMatrixUnit<Lanes>::line_of(lane); }
};

/// The unit for tf32 factors, each stored in a float.
template <int Lanes>
struct MatrixUnit<Tf32, Lanes> : AnyMatrixUnit<Lanes> {
  static constexpr int depth = 8;
  static constexpr float least_normal = 0x1p-126F;
  template <int N>
  struct Floats {
    static constexpr int elements = N;
    float at[N];
    [[nodiscard]] KOKKOS_FUNCTION float element(int i) const { return at[i]; }
  };
  using A = Floats<128 / Lanes>;
  using B = Floats<2>;

  [[nodiscard]] KOKKOS_FUNCTION static int row_of_a(int lane, int i) {
    return Lanes == 32 ? lane / 4 + 8 * (i % 2) : lane % 16;
  }
  [[nodiscard]] KOKKOS_FUNCTION static int col_of_a(int lane, int i) {
    return Lanes == 32 ? lane % 4 + 4 * (i / 2) : 2 * (lane / 16) + i;
  }
  [[nodiscard]] KOKKOS_FUNCTION static int row_of_b(int lane, int i) {
    return Lanes == 32 ? lane % 4 + 4 * i : 2 * (lane / 16) + i;
  }
  [[nodiscard]] KOKKOS_FUNCTION static int col_of_b(int lane, int) { return AnyMatrixUnit<Lanes>::line_of(lane); }

  /// The range, besides 0, in which tf32 represents a number to 11 bits and its remainder to 11 more. Products of two
  /// of these numbers, or of one and a remainder (2^-24 of the smallest), do not underflow.
  static constexpr float smallest = 0x1p-50F;
  static constexpr float largest = 0x1p126F;
};

/// Returns the nearest tf32 to a number that is 0 or between MatrixUnit<Tf32>::smallest and largest in magnitude. Ties
/// go away from 0.
[[nodiscard]] KOKKOS_INLINE_FUNCTION float to_tf32(float value) {
  // Two integer instructions; the GPU's conversion (cvt.rna.tf32) runs at an eighth of their rate.
  std::uint32_t bits = Kokkos::bit_cast<std::uint32_t>(value);
  bits = (bits + 0x1000U) & 0xffff'e000U;
  return Kokkos::bit_cast<float>(bits);
}

/// Truncates a number in the same range, or 0, to tf32 (rounds towards 0).
[[nodiscard]] KOKKOS_INLINE_FUNCTION float cut_to_tf32(float value) {
  return Kokkos::bit_cast<float>(Kokkos::bit_cast<std::uint32_t>(value) & 0xffff'e000U);
}

/// Splits a number in the same range into tf32 terms. One term: the nearest tf32. Two terms: also the remainder,
/// truncated to 11 of its at most 12 bits.
template <int Terms>
KOKKOS_INLINE_FUNCTION void split_to_tf32(float value, float& high, [[maybe_unused]] float& low) {
  static_assert(Terms == 1 || Terms == 2, "Tessera: a factor has one or two terms");
  high = to_tf32(value);
  if constexpr (Terms == 2) low = cut_to_tf32(value - high);
}

// c += a b, or c = a b, by the instruction for two factors of TYPE per register.
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

/// Computes c += a b. The elements of a and b must be factors of the unit.
template <class Factor>
KOKKOS_INLINE_FUNCTION void multiply_add(MatrixUnit<Factor>, lane::Hardware<32> const&, SumFragment& c,
                                         typename MatrixUnit<Factor>::A const& a,
                                         typename MatrixUnit<Factor>::B const& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // volatile: all lanes take part, so the compiler must not move it to code that only some lanes execute.
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

/// Computes c = a b.
template <class Factor>
KOKKOS_INLINE_FUNCTION void multiply(MatrixUnit<Factor>, lane::Hardware<32> const&, SumFragment& c,
                                     typename MatrixUnit<Factor>::A const& a, typename MatrixUnit<Factor>::B const& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // One zero register as all four inputs, instead of four registers that must be set to 0.
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

#if defined(__HIP_DEVICE_COMPILE__) && (defined(__gfx90a__) || defined(__gfx942__))
#define TESSERA_HAS_MFMA
#endif

// c += a b by AMD's instructions. The left factor is b transposed, the right one a transposed: in the transposed
// product a lane's four elements of a column are neighbours in a row of c.
template <class Factor>
KOKKOS_INLINE_FUNCTION void multiply_add(MatrixUnit<Factor, 64>, lane::Hardware<64> const&, SumFragment& c,
                                         typename MatrixUnit<Factor, 64>::A const& a,
                                         typename MatrixUnit<Factor, 64>::B const& b) {
#if defined(TESSERA_HAS_MFMA)
  using FourFloats = float __attribute__((ext_vector_type(4)));
  auto sums = Kokkos::bit_cast<FourFloats>(c);
  if constexpr (std::same_as<Factor, Tf32>) {
#if defined(__gfx942__)
    using TwoFloats = float __attribute__((ext_vector_type(2)));
    sums = __builtin_amdgcn_mfma_f32_16x16x8_xf32(Kokkos::bit_cast<TwoFloats>(b), Kokkos::bit_cast<TwoFloats>(a), sums,
                                                  0, 0, 0);
#else
    // Two products with float factors, each over every other k: tf32 numbers are floats.
    sums = __builtin_amdgcn_mfma_f32_16x16x4f32(b.at[0], a.at[0], sums, 0, 0, 0);
    sums = __builtin_amdgcn_mfma_f32_16x16x4f32(b.at[1], a.at[1], sums, 0, 0, 0);
#endif
  } else if constexpr (std::same_as<Factor, Half>) {
    using FourHalves = _Float16 __attribute__((ext_vector_type(4)));
    sums = __builtin_amdgcn_mfma_f32_16x16x16f16(Kokkos::bit_cast<FourHalves>(b), Kokkos::bit_cast<FourHalves>(a), sums,
                                                 0, 0, 0);
  } else {
    using FourShorts = short __attribute__((ext_vector_type(4)));
    sums = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(Kokkos::bit_cast<FourShorts>(b), Kokkos::bit_cast<FourShorts>(a),
                                                     sums, 0, 0, 0);
  }
  c = Kokkos::bit_cast<SumFragment>(sums);
#else
  (void)c, (void)a, (void)b;
#endif
}

/// Computes c = a b.
template <class Factor>
KOKKOS_INLINE_FUNCTION void multiply(MatrixUnit<Factor, 64> unit, lane::Hardware<64> const& lanes, SumFragment& c,
                                     typename MatrixUnit<Factor, 64>::A const& a,
                                     typename MatrixUnit<Factor, 64>::B const& b) {
  c = SumFragment{};
  multiply_add(unit, lanes, c, a, b);
}
#undef TESSERA_HAS_MFMA

template <class Factor, int Lanes>
KOKKOS_INLINE_FUNCTION void multiply_add(MatrixUnit<Factor, Lanes>, lane::Emulated<Lanes> const&,
                                         lane::Values<SumFragment, Lanes>& c,
                                         lane::Values<typename MatrixUnit<Factor, Lanes>::A, Lanes> const& a,
                                         lane::Values<typename MatrixUnit<Factor, Lanes>::B, Lanes> const& b) {
  using M = MatrixUnit<Factor, Lanes>;
  float whole_a[M::rows][M::depth];
  float whole_b[M::depth][M::cols];
  for (int lane = 0; lane < Lanes; ++lane) {
    for (int i = 0; i < M::A::elements; ++i) {
      whole_a[M::row_of_a(lane, i)][M::col_of_a(lane, i)] = M::flushed(a.at[lane].element(i), M::least_normal);
    }
    for (int i = 0; i < M::B::elements; ++i) {
      whole_b[M::row_of_b(lane, i)][M::col_of_b(lane, i)] = M::flushed(b.at[lane].element(i), M::least_normal);
    }
  }
  for (int lane = 0; lane < Lanes; ++lane) {
    for (int i = 0; i < 4; ++i) {
      double sum = static_cast<double>(c.at[lane].at[i]);
      for (int k = 0; k < M::depth; ++k) {
        sum += static_cast<double>(whole_a[M::row_of_c(lane, i)][k]) *
               static_cast<double>(whole_b[k][M::col_of_c(lane, i)]);
      }
      c.at[lane].at[i] = M::flushed(static_cast<float>(sum), 0x1p-126F);
    }
  }
}

template <class Factor, int Lanes>
KOKKOS_INLINE_FUNCTION void multiply(MatrixUnit<Factor, Lanes> unit, lane::Emulated<Lanes> const& lanes,
                                     lane::Values<SumFragment, Lanes>& c,
                                     lane::Values<typename MatrixUnit<Factor, Lanes>::A, Lanes> const& a,
                                     lane::Values<typename MatrixUnit<Factor, Lanes>::B, Lanes> const& b) {
  c = lanes.fill(SumFragment{});
  multiply_add(unit, lanes, c, a, b);
}

/// Adds the lanes' elements `more` of c to `sum`, in float, which rounds to nearest.
template <lane::Lanes L, class Sums>
KOKKOS_INLINE_FUNCTION void add_sums(L const& lanes, Sums& sum, Sums const& more) {
  lanes.each(
      [](int, auto& own, auto const& other) {
        unrolled<sizeof(own.at) / sizeof(float)>([&](int i) { own.at[i] += other.at[i]; });
      },
      sum, more);
}

/// True if kernels with matrix units can be compiled for the space: on CUDA, on AMD if Kokkos compiles for gfx90a or
/// gfx942, or on hosts with the emulation.
template <ExecutionSpace Exec>
inline constexpr bool can_have_matrix_units =
#if defined(KOKKOS_ENABLE_CUDA)
    std::same_as<Exec, Kokkos::Cuda> ||
#endif
#if defined(KOKKOS_ENABLE_HIP) && (defined(KOKKOS_ARCH_AMD_GFX90A) || defined(KOKKOS_ARCH_AMD_GFX942))
    std::same_as<Exec, Kokkos::HIP> ||
#endif
    !is_gpu<Exec>;

/// Returns true if the device has matrix units that multiply_add uses.
template <ExecutionSpace Exec>
[[nodiscard]] bool has_matrix_units([[maybe_unused]] Exec const& exec) {
#if defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ARCH_MAXWELL) && !defined(KOKKOS_ARCH_PASCAL) && \
    !defined(KOKKOS_ARCH_VOLTA) && !defined(KOKKOS_ARCH_TURING75)
  if constexpr (std::same_as<Exec, Kokkos::Cuda>) return exec.cuda_device_prop().major >= 8;
#endif
#if defined(KOKKOS_ENABLE_HIP)
  // HIP builds contain code for one architecture: the program does not start on another one.
  if constexpr (std::same_as<Exec, Kokkos::HIP>) return can_have_matrix_units<Exec>;
#endif
  return false;
}

}  // namespace tessera::collective
