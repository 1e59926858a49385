#pragma once
/// \file
/// Floats of 16 bits in memory. Arithmetic with them is float's: they turn into it by themselves, and a float is rounded to
/// one of them, to nearest, ties to even. Ours, since Kokkos' half_t is a float of 32 bits in builds without a GPU.
///
///     Half      11 significant bits, 2^-14 to 65504, below that down to 2^-24 with fewer bits (IEEE 754 binary16)
///     BFloat16   8 significant bits, the exponents of float

#include <Kokkos_Core.hpp>

#include <bit>
#include <cstdint>

namespace tessera {

class BFloat16 {
 public:
  BFloat16() = default;
  KOKKOS_INLINE_FUNCTION explicit constexpr BFloat16(float value)
      : bits_(rounded(std::bit_cast<std::uint32_t>(value))) {}
  KOKKOS_INLINE_FUNCTION constexpr operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16);
  }

 private:
  [[nodiscard]] KOKKOS_INLINE_FUNCTION static constexpr std::uint16_t rounded(std::uint32_t bits) {
    if ((bits & 0x7fff'ffffU) > 0x7f80'0000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);  // NaN stays NaN
    return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
  }

  std::uint16_t bits_;
};

class Half {
 public:
  Half() = default;
  KOKKOS_INLINE_FUNCTION explicit constexpr Half(float value)
      : bits_(rounded(std::bit_cast<std::uint32_t>(value))) {}
  KOKKOS_INLINE_FUNCTION constexpr operator float() const {
    std::uint32_t const sign = (bits_ & 0x8000U) << 16;
    std::uint32_t const rest = bits_ & 0x7fffU;
    if (rest >= 0x7c00U) return std::bit_cast<float>(sign | 0x7f80'0000U | (rest & 0x3ffU) << 13);
    if (rest >= 0x400U) return std::bit_cast<float>(sign | ((rest << 13) + 0x3800'0000U));
    float const size = static_cast<float>(rest) * 0x1p-24F;
    return sign != 0 ? -size : size;
  }

 private:
  [[nodiscard]] KOKKOS_INLINE_FUNCTION static constexpr std::uint16_t rounded(std::uint32_t bits) {
    auto const sign = static_cast<std::uint32_t>(bits >> 16) & 0x8000U;
    std::uint32_t const size = bits & 0x7fff'ffffU;
    if (size > 0x7f80'0000U) return static_cast<std::uint16_t>(sign | 0x7e00U);
    if (size >= 0x4780'0000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // 2^16 and above
    if (size >= 0x3880'0000U) {                                                   // 2^-14 and above
      std::uint32_t const even = (size >> 13) & 1U;
      return static_cast<std::uint16_t>(sign | ((size - 0x3800'0000U + 0xfffU + even) >> 13));
    }
    // A multiple of 2^-24: the sum with 1/2 has it in its last bits, rounded as float is.
    float const shifted = std::bit_cast<float>(size) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f00'0000U));
  }

  std::uint16_t bits_;
};

}  // namespace tessera
