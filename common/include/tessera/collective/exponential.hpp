#pragma once
/// \file
/// e^x for x <= 0, for weights relative to a maximum (softmax).
///
/// A GPU calls its math library. A host uses arithmetic without branches and calls, so that the compiler vectorises
/// loops over elements. The host's library function handles one element at a time and would dominate the time of a
/// softmax.
///
/// Source: range reduction x = k ln 2 + r with ln 2 in two parts (Cody and Waite, Software Manual for the Elementary
/// Functions, 1980), then the Taylor polynomial of e^r, |r| <= ln 2 / 2. Its degree is 7 in float and 13 in double; the
/// remainder is far below the rounding error. Error: at most 2 units in the last place, plus half the smallest
/// denormal.
///
/// May be called by any thread. No scratch, no barriers.
///
/// Example: 0 -> 1; -1 -> 0.36787945 (float); -infinity -> 0; NaN -> NaN.

#include <Kokkos_Core.hpp>

#include <bit>
#include <cstdint>

namespace tessera::collective {

namespace detail {

template <class T>
struct Exponential;

template <>
struct Exponential<float> {
  using Word = std::uint32_t;
  static constexpr float lowest = -104.5f;  // below it e^x rounds to 0
  static constexpr float per_ln2 = 0x1.715476p+0f;
  static constexpr float ln2_high = 0x1.62e400p-1f;  // has few bits, so that its product with k is exact
  static constexpr float ln2_low = 0x1.7f7d1cp-20f;
  static constexpr float to_integer = 0x1.8p+23f;  // a sum with it has the nearest integer in its last bits
  static constexpr int mantissa = 23;
  static constexpr int bias = 127;
  static constexpr int lift = 64;  // added to the exponent: the result stays normal until the last multiplication
  static constexpr float drop = 0x1p-64f;

  [[nodiscard]] static constexpr float polynomial(float r) {
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    return (p * r * r + r) + 1.0f;
  }
};

template <>
struct Exponential<double> {
  using Word = std::uint64_t;
  static constexpr double lowest = -746.0;
  static constexpr double per_ln2 = 0x1.71547652b82fep+0;
  static constexpr double ln2_high = 0x1.62e42fefa0000p-1;
  static constexpr double ln2_low = 0x1.cf79abc9e3b39p-40;
  static constexpr double to_integer = 0x1.8p+52;
  static constexpr int mantissa = 52;
  static constexpr int bias = 1023;
  static constexpr int lift = 512;
  static constexpr double drop = 0x1p-512;

  [[nodiscard]] static constexpr double polynomial(double r) {
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    return (p * r * r + r) + 1.0;
  }
};

template <class T>
[[nodiscard]] inline T host_exp_nonpositive(T x) {
  using E = Exponential<T>;
  using Word = typename E::Word;
  T const bounded = x < E::lowest ? E::lowest : x;  // keeps a NaN
  T const shifted = bounded * E::per_ln2 + E::to_integer;
  T const k = shifted - E::to_integer;
  T const r = (bounded - k * E::ln2_high) - k * E::ln2_low;
  Word const exponent = std::bit_cast<Word>(shifted) + static_cast<Word>(E::bias + E::lift);
  return E::polynomial(r) * std::bit_cast<T>(exponent << E::mantissa) * E::drop;
}

}  // namespace detail

/// Returns e^x. \param x at most 0, or NaN
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T exp_nonpositive(T x) {
  KOKKOS_IF_ON_DEVICE((return Kokkos::exp(x);))
  KOKKOS_IF_ON_HOST((return detail::host_exp_nonpositive(x);))
}

/// Returns 2^x within 4 units of float's roundoff; results below the normal range may be 0. On CUDA it is one
/// instruction; the library's function needs three more for denormals.
///
/// Source: NVIDIA, PTX ISA, ex2.approx.ftz.f32.
///
/// Example: 0 -> 1; -1 -> 0.5; -infinity -> 0.
[[nodiscard]] KOKKOS_INLINE_FUNCTION float fast_exp2(float x) {
#if defined(__CUDA_ARCH__)
  float power = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#else
  return Kokkos::exp2(x);
#endif
}

}  // namespace tessera::collective
