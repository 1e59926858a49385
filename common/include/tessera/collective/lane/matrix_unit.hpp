#pragma once
/// \file
/// Products of small matrices by 32 lanes together, on a GPU's matrix units (tensor cores): c += a b, a [16, 8], b [8, 8],
/// c [16, 8], with factors of type tf32 and sums in float.
///
/// tf32 has float's range of exponents and 11 significant bits, the leading one included. Products are exact; a matrix unit
/// adds the eight of them and c's element with at least 24 bits, cutting off what is below (no rounding to nearest).
///
/// A lane holds two or four elements of each matrix. With g = lane / 4 and t = lane % 4:
///
///     a   (g, t)  (g + 8, t)  (g, t + 4)  (g + 8, t + 4)
///     b   (t, g)  (t + 4, g)
///     c   (g, 2 t)  (g, 2 t + 1)  (g + 8, 2 t)  (g + 8, 2 t + 1)
///
/// Two models, chosen by the kind of lanes: CUDA's mma.sync, from compute capability 8.0 on (has_matrix_units()); and for
/// emulated lanes a loop over the elements that takes them from the lanes as above, for tests.
///
/// Who calls: all 32 lanes together. Scratch: none. Barriers: none.
///
/// Example: where every element of a and b is 1, multiply_add adds 8 to each element of c.
///
/// Source: NVIDIA, PTX ISA, "Matrix Fragments for mma.m16n8k8"; M. Fasi, N. Higham, M. Mikaitis, S. Pranesh, Numerical
/// behavior of NVIDIA tensor cores, PeerJ Computer Science 7, 2021.

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstdint>
#include <cstring>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::collective {

/// What a lane holds of a matrix.
template <int N>
struct Fragment {
  float at[N];
};

/// Extents of one product.
struct MatrixUnit {
  static constexpr int lanes = 32;
  static constexpr int rows = 16;
  static constexpr int cols = 8;
  static constexpr int depth = 8;
  using A = Fragment<4>;
  using B = Fragment<2>;
  using C = Fragment<4>;

  /// Where a lane's i-th element of a matrix stands.
  [[nodiscard]] KOKKOS_FUNCTION static int row_of_a(int lane, int i) { return lane / 4 + 8 * (i % 2); }
  [[nodiscard]] KOKKOS_FUNCTION static int col_of_a(int lane, int i) { return lane % 4 + 4 * (i / 2); }
  [[nodiscard]] KOKKOS_FUNCTION static int row_of_b(int lane, int i) { return lane % 4 + 4 * i; }
  [[nodiscard]] KOKKOS_FUNCTION static int col_of_b(int lane, int) { return lane / 4; }
  [[nodiscard]] KOKKOS_FUNCTION static int row_of_c(int lane, int i) { return lane / 4 + 8 * (i / 2); }
  [[nodiscard]] KOKKOS_FUNCTION static int col_of_c(int lane, int i) { return 2 * (lane % 4) + i % 2; }

  /// Numbers that tf32 represents to 11 bits, and whose remainder to 11 more: all between these two, and 0. Products of two
  /// of them, or of one and a remainder (2^-24 of the least), do not underflow.
  static constexpr float smallest = 0x1p-50F;
  static constexpr float largest = 0x1p126F;
};

/// The nearest tf32 to a number that is 0 or between MatrixUnit::smallest and largest; ties go away from 0.
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

/// c += a b. The elements of a and b are tf32.
KOKKOS_INLINE_FUNCTION void multiply_add(lane::Hardware<MatrixUnit::lanes> const&, MatrixUnit::C& c,
                                         MatrixUnit::A const& a, MatrixUnit::B const& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // volatile: all lanes take part, so it must not be moved to where only some of them go.
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c.at[0]), "+f"(c.at[1]), "+f"(c.at[2]), "+f"(c.at[3])
      : "r"(__float_as_uint(a.at[0])), "r"(__float_as_uint(a.at[1])), "r"(__float_as_uint(a.at[2])),
        "r"(__float_as_uint(a.at[3])), "r"(__float_as_uint(b.at[0])), "r"(__float_as_uint(b.at[1])));
#else
  (void)c, (void)a, (void)b;
#endif
}

/// c = a b.
KOKKOS_INLINE_FUNCTION void multiply(lane::Hardware<MatrixUnit::lanes> const&, MatrixUnit::C& c, MatrixUnit::A const& a,
                                     MatrixUnit::B const& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // The register that is always 0, instead of four that are made so.
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, "
      "%10};"
      : "=f"(c.at[0]), "=f"(c.at[1]), "=f"(c.at[2]), "=f"(c.at[3])
      : "r"(__float_as_uint(a.at[0])), "r"(__float_as_uint(a.at[1])), "r"(__float_as_uint(a.at[2])),
        "r"(__float_as_uint(a.at[3])), "r"(__float_as_uint(b.at[0])), "r"(__float_as_uint(b.at[1])), "f"(0.0F));
#else
  (void)c, (void)a, (void)b;
#endif
}

KOKKOS_INLINE_FUNCTION void multiply_add(lane::Emulated<MatrixUnit::lanes> const&,
                                         lane::Values<MatrixUnit::C, MatrixUnit::lanes>& c,
                                         lane::Values<MatrixUnit::A, MatrixUnit::lanes> const& a,
                                         lane::Values<MatrixUnit::B, MatrixUnit::lanes> const& b) {
  using M = MatrixUnit;
  float whole_a[M::rows][M::depth];
  float whole_b[M::depth][M::cols];
  for (int lane = 0; lane < M::lanes; ++lane) {
    for (int i = 0; i < 4; ++i) whole_a[M::row_of_a(lane, i)][M::col_of_a(lane, i)] = a.at[lane].at[i];
    for (int i = 0; i < 2; ++i) whole_b[M::row_of_b(lane, i)][M::col_of_b(lane, i)] = b.at[lane].at[i];
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

KOKKOS_INLINE_FUNCTION void multiply(lane::Emulated<MatrixUnit::lanes> const& lanes,
                                     lane::Values<MatrixUnit::C, MatrixUnit::lanes>& c,
                                     lane::Values<MatrixUnit::A, MatrixUnit::lanes> const& a,
                                     lane::Values<MatrixUnit::B, MatrixUnit::lanes> const& b) {
  c = lanes.fill(MatrixUnit::C{});
  multiply_add(lanes, c, a, b);
}

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
