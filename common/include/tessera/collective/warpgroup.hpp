#pragma once
/// \file
/// Products of matrices on a GPU's matrix units by a warpgroup: four threads of 32 lanes each. The units read factors
/// directly from scratch: c += a b, a [64, depth], b [depth, 128], c [64, 128]. Sums are floats. Factors are Half or
/// BFloat16 with depth 16, or Tf32 with depth 8.
///
/// One instruction does the work of 64 MatrixUnit instructions (collective/lane/matrix_unit.hpp), and factors of b
/// need no registers. The units of compute capability 9.0 reach their full rate only with these instructions.
///
/// A panel in scratch holds `depth` values of k for some rows of a (or columns of b), in packs of 16 bytes: 8
/// neighbours of k, or 4 for Tf32.
///
///     panel    [2][rows] packs: the first half of k for each row, then the second half for each
///
/// For Tf32, a is not a panel: thread w holds rows 16 w .. 16 w + 15 of a in registers, as MatrixUnit<Tf32>::A. A
/// kernel can therefore convert values from scratch to factors.
///
/// Thread w of the four has rows 16 w .. 16 w + 15 of c. With g = lane / 4 and t = lane % 4 a lane's sums are
///
///     at[4 j + 2 h + e]    c(16 w + g + 8 h, 8 j + 2 t + e)      j < 16, h < 2, e < 2
///
/// Products are asynchronous, like copies into scratch (collective/async_copy.hpp): they may read scratch and write
/// sums at any time between multiply_add() and wait(). Warpgroup<Factor> is CUDA's wgmma, in device code for compute
/// capability 9.0a. Tests on a host have two more models (tests/collective/emulated_warpgroup.hpp).
///
/// Each lane has its own object (for emulated lanes: each thread):
///   see_copies()            makes the data that this lane's copies wrote to scratch visible to products; a barrier
///                           must follow
///   begin()                 must be called before the first product of a group: makes the sums in registers visible
///                           to it
///   multiply_add(c, a, b)   starts c += a b; a and b are panels, a beginning at the first of its 64 rows. For Tf32, a
///                           is the lanes' registers, which must not change until the product is done
///   multiply(c, a, b)       only Tf32: starts c = a b
///   commit()                makes a group of all products since the last commit
///   wait<N>()               returns when all of the calling thread's groups except the last N are done
///
/// Must be called by all lanes of four neighbouring threads of a team together, with the same panels. Scratch: the
/// panels. Barriers: none. A product's inputs in scratch may be overwritten after wait() and then a barrier of the
/// team.
///
/// Example: if every element of a and b is 1, multiply_add adds `depth` to each element of c.
///
/// Source: NVIDIA, PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions", without swizzling.

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstdint>

#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/core/half.hpp>

namespace tessera::collective {

/// Eight factors of 16 bits, two per word, or four factors of tf32.
using FactorPack = Pack<std::uint32_t, 4>;

/// A panel in scratch: `depth` values of k for `rows` rows of a, or columns of b. `packs` may point to any row that is
/// a multiple of 8.
struct FactorPanel {
  FactorPack const* packs;
  int rows;

  [[nodiscard]] KOKKOS_FUNCTION FactorPanel from(int row) const { return {packs + row, rows}; }
};

/// A lane's elements of c.
struct WarpgroupSums {
  float at[64];
};

/// The shapes of a product, and the row and column of a lane's i-th element of c.
struct AnyWarpgroup {
  static constexpr int threads = 4;
  static constexpr int lanes = 32;
  static constexpr int rows = 64;
  static constexpr int cols = 128;
  static constexpr int depth = 16;

  [[nodiscard]] KOKKOS_FUNCTION static int row_of_c(int thread, int lane, int i) {
    return 16 * thread + lane / 4 + 8 * (i / 2 % 2);
  }
  [[nodiscard]] KOKKOS_FUNCTION static int col_of_c(int lane, int i) { return 8 * (i / 4) + 2 * (lane % 4) + i % 2; }
};

/// Products by the hardware: the part that is the same for all factors.
class WarpgroupGroups : public AnyWarpgroup {
 public:
  KOKKOS_FUNCTION void see_copies() const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
#endif
  }
  KOKKOS_FUNCTION void begin() const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
#endif
  }
  KOKKOS_FUNCTION void commit() const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
#endif
  }
  template <int N>
  KOKKOS_FUNCTION void wait() const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(N) : "memory");
#endif
  }

 protected:
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // The panel's descriptor for the instruction. All fields are in units of 16 bytes: the panel's address, the distance
  // to the next half of k, and the distance to the next 8 rows.
  static __device__ std::uint64_t described(FactorPanel const& panel) {
    auto const at = static_cast<std::uint64_t>(__cvta_generic_to_shared(panel.packs));
    return at >> 4 | static_cast<std::uint64_t>(panel.rows) << 16 | std::uint64_t{8} << 32;
  }
#endif
};

// Eight sums from the n-th on, as operands.
#define TESSERA_EIGHT(n)                                                                             \
  "+f"(c.at[n]), "+f"(c.at[(n) + 1]), "+f"(c.at[(n) + 2]), "+f"(c.at[(n) + 3]), "+f"(c.at[(n) + 4]), \
      "+f"(c.at[(n) + 5]), "+f"(c.at[(n) + 6]), "+f"(c.at[(n) + 7])
#define TESSERA_SUMS                                                                                              \
  TESSERA_EIGHT(0), TESSERA_EIGHT(8), TESSERA_EIGHT(16), TESSERA_EIGHT(24), TESSERA_EIGHT(32), TESSERA_EIGHT(40), \
      TESSERA_EIGHT(48), TESSERA_EIGHT(56)
#define TESSERA_NAMES_OF_SUMS                                                                         \
  " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, " \
  "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, "   \
  "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, "   \
  "%59, %60, %61, %62, %63}"

/// Products of panels of 16-bit factors by the hardware.
template <class Factor>
class Warpgroup : public WarpgroupGroups {
 public:
  static_assert(std::same_as<Factor, Half> || std::same_as<Factor, BFloat16>,
                "Tessera: no matrix unit has such factors");

  KOKKOS_FUNCTION explicit Warpgroup(int /*thread*/) {}

// The last five operands: add the product; negate neither factor; k is the fastest index of both.
#define TESSERA_WGMMA(TYPE)                                                                       \
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE TESSERA_NAMES_OF_SUMS \
               ", %64, %65, 1, 1, 1, 0, 0;"                                                       \
               : TESSERA_SUMS                                                                     \
               : "l"(described(a)), "l"(described(b)))
  KOKKOS_FUNCTION void multiply_add(WarpgroupSums& c, FactorPanel const& a, FactorPanel const& b) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (std::same_as<Factor, Half>) {
      TESSERA_WGMMA("f16");
    } else {
      TESSERA_WGMMA("bf16");
    }
#else
    (void)c, (void)a, (void)b;
#endif
  }
#undef TESSERA_WGMMA
};

/// Products of a lane's tf32 factors and a panel of tf32 factors.
template <>
class Warpgroup<Tf32> : public WarpgroupGroups {
 public:
  static constexpr int depth = 8;
  using A = MatrixUnit<Tf32>::A;

  KOKKOS_FUNCTION explicit Warpgroup(int /*thread*/) {}

  KOKKOS_FUNCTION void multiply_add(WarpgroupSums& c, A const& a, FactorPanel const& b) const { start<1>(c, a, b); }
  KOKKOS_FUNCTION void multiply(WarpgroupSums& c, A const& a, FactorPanel const& b) const { start<0>(c, a, b); }

 private:
  // The operand after the panel selects whether the product is added; the last two negate neither factor.
  template <int Adds>
  KOKKOS_FUNCTION static void start(WarpgroupSums& c, A const& a, FactorPanel const& b) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32" TESSERA_NAMES_OF_SUMS
                 ", {%64, %65, %66, %67}, %68, %69, 1, 1;"
                 : TESSERA_SUMS
                 : "r"(__float_as_uint(a.at[0])), "r"(__float_as_uint(a.at[1])), "r"(__float_as_uint(a.at[2])),
                   "r"(__float_as_uint(a.at[3])), "l"(described(b)), "n"(Adds));
#else
    (void)c, (void)a, (void)b;
#endif
  }
};
#undef TESSERA_NAMES_OF_SUMS
#undef TESSERA_SUMS
#undef TESSERA_EIGHT

}  // namespace tessera::collective
