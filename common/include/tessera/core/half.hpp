#pragma once
/// \file
/// 16-bit floats as elements of arrays: Half (IEEE 754 binary16: 5 exponent bits, 11 significant bits) and BFloat16
/// (the upper half of a float: 8 exponent bits, 8 significant bits).
///
/// They are storage only. Operators convert both operands to float, which is exact, and return a float. A result is
/// rounded once, when it is stored: to nearest, ties to even. Kokkos' half_t is not used: it is a 32-bit float on
/// machines without 16-bit instructions, and rounds after each operation on machines with them.
///
/// One operation on two of these numbers, computed in float and then stored, equals the operation rounded once. Double
/// rounding is innocuous for +, -, *, / and sqrt if the first rounding is to at least 2p + 2 bits, p being the
/// precision of the second rounding (S. Figueroa, When is double rounding innocuous?, SIGNUM Newsletter 30, 1995).
/// Float has 24 = 2 * 11 + 2 bits. This requires that nothing underflows in float: a product of Halves never
/// underflows, and sums below the normal range are exact. A product or quotient of BFloat16s below 2^-126 may be wrong
/// by one in the last bit.
///
/// Example: Half(1.0f) + Half(0x1p-11f) is the float 1 + 2^-11, half way between 1 and the next Half. Stored in a Half
/// it is 1, since the next Half is odd.

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

// A macro for this header only, because code without Kokkos includes it too.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define TESSERA_FUNCTION __host__ __device__
#else
#define TESSERA_FUNCTION
#endif

namespace tessera {

namespace detail {

template <class To, class From>
[[nodiscard]] TESSERA_FUNCTION constexpr To bits_as(From const& from) {
  return __builtin_bit_cast(To, from);  // std::bit_cast cannot be called on a device
}

/// A 16-bit binary format, given by the number of its mantissa bits (without the implicit bit). All computation is in
/// integers, so that it works in constant expressions and on any machine.
template <int Mantissa>
struct ShortFormat {
  static constexpr int least_exponent = 2 - (1 << (14 - Mantissa));  // of a normal number
  static constexpr std::uint16_t infinity = static_cast<std::uint16_t>(0x7fff >> Mantissa << Mantissa);
  static constexpr std::uint16_t quiet = static_cast<std::uint16_t>(infinity | (1 << (Mantissa - 1)));

  /// Returns the bits of the number nearest to a double, rounded once.
  [[nodiscard]] TESSERA_FUNCTION static constexpr std::uint16_t rounded(double value) {
    auto const bits = bits_as<std::uint64_t>(value);
    auto const sign = static_cast<std::uint16_t>(bits >> 48 & 0x8000);
    int const exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
    std::uint64_t const fraction = bits & 0xf'ffff'ffff'ffffU;
    if (exponent == 1024 && fraction != 0) return sign | quiet;
    if (exponent > -least_exponent + 1) return sign | infinity;
    if (exponent < least_exponent - Mantissa - 1) return sign;  // below half of the smallest; also denormals of double
    // Below the normal range the mantissa has fewer bits: its last bit is always worth 2^(least_exponent - Mantissa).
    int const below = exponent < least_exponent ? least_exponent - exponent : 0;
    int const cut = 52 - Mantissa + below;
    std::uint64_t const significand = fraction | std::uint64_t{1} << 52;
    std::uint64_t const rest = significand & ((std::uint64_t{1} << cut) - 1);
    std::uint64_t const tie = std::uint64_t{1} << (cut - 1);
    std::uint64_t kept = significand >> cut;
    if (rest > tie || (rest == tie && kept % 2 != 0)) ++kept;
    // The implicit bit adds 1 to the exponent. A carry out of the mantissa also adds 1, and the result may be infinity.
    int const biased = below > 0 ? 0 : exponent - least_exponent;
    return static_cast<std::uint16_t>(sign | ((static_cast<std::uint64_t>(biased) << Mantissa) + kept));
  }
};

/// Converts binary16 from and to float without branches. Source: F. Giesen's conversions, in which a float addition
/// rounds a result that becomes denormal, and a float subtraction normalises a denormal.
[[nodiscard]] TESSERA_FUNCTION constexpr std::uint16_t half_from_float_bits(std::uint32_t bits) {
  std::uint32_t const magnitude = bits & 0x7fff'ffffU;
  std::uint32_t const sign = bits >> 16 & 0x8000U;
  constexpr float magic = 0.5F;  // its last bit is worth the smallest Half
  std::uint32_t const denormal =
      bits_as<std::uint32_t>(bits_as<float>(magnitude) + magic) - bits_as<std::uint32_t>(magic);
  std::uint32_t const normal =
      (magnitude + 0xc800'0fffU + (magnitude >> 13 & 1U)) >> 13;  // exponent - 112, and half of the last bit for a tie
  std::uint32_t const large = magnitude > 0x7f80'0000U ? 0x7e00U : 0x7c00U;
  std::uint32_t const finite = magnitude < 0x3880'0000U ? denormal : normal;
  return static_cast<std::uint16_t>(sign | (magnitude >= 0x4780'0000U ? large : finite));
}
[[nodiscard]] TESSERA_FUNCTION constexpr std::uint32_t float_bits_from_half(std::uint16_t half) {
  std::uint32_t const shifted = (half & 0x7fffU) << 13;
  std::uint32_t const exponent = shifted & 0x0f80'0000U;
  constexpr std::uint32_t magic = 0x3880'0000U;  // 2^-14
  std::uint32_t const denormal = bits_as<std::uint32_t>(bits_as<float>(shifted + magic) - bits_as<float>(magic));
  std::uint32_t const normal = shifted + (exponent == 0x0f80'0000U ? 0x7000'0000U : 0x3800'0000U);
  return (exponent == 0 ? denormal : normal) | (half & 0x8000U) << 16;
}

[[nodiscard]] TESSERA_FUNCTION constexpr std::uint16_t bfloat16_from_float_bits(std::uint32_t bits) {
  std::uint32_t const rounded = bits + 0x7fffU + (bits >> 16 & 1U);  // a carry goes into the exponent, up to infinity
  std::uint32_t const nan = bits | 0x40'0000U;
  return static_cast<std::uint16_t>(((bits & 0x7fff'ffffU) > 0x7f80'0000U ? nan : rounded) >> 16);
}

// Compilers with a 16-bit type whose conversions are single instructions.
#if defined(__HIPCC__) || \
    (!defined(__CUDACC__) && defined(__FLT16_MANT_DIG__) && (defined(__F16C__) || defined(__aarch64__)))
inline constexpr bool has_float16 = true;
using Float16 = _Float16;
#else
inline constexpr bool has_float16 = false;
using Float16 = std::uint16_t;
#endif

struct HalfBits {
  static constexpr int mantissa = 10;
  [[nodiscard]] TESSERA_FUNCTION static constexpr std::uint16_t of(float value) {
    if (!__builtin_is_constant_evaluated()) {
#if defined(__CUDA_ARCH__)
      std::uint16_t bits;
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
      return bits;
#else
      if constexpr (has_float16) return bits_as<std::uint16_t>(static_cast<Float16>(value));
#endif
    }
    return half_from_float_bits(bits_as<std::uint32_t>(value));
  }
  [[nodiscard]] TESSERA_FUNCTION static constexpr float as_float(std::uint16_t bits) {
    if (!__builtin_is_constant_evaluated()) {
#if defined(__CUDA_ARCH__)
      float value;
      asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
      return value;
#else
      if constexpr (has_float16) return static_cast<float>(bits_as<Float16>(bits));
#endif
    }
    return bits_as<float>(float_bits_from_half(bits));
  }
};

struct BFloat16Bits {
  static constexpr int mantissa = 7;
  [[nodiscard]] TESSERA_FUNCTION static constexpr std::uint16_t of(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if (!__builtin_is_constant_evaluated()) {
      std::uint16_t bits;
      asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
      return bits;
    }
#endif
    return bfloat16_from_float_bits(bits_as<std::uint32_t>(value));
  }
  [[nodiscard]] TESSERA_FUNCTION static constexpr float as_float(std::uint16_t bits) {
    return bits_as<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// Returns the integer as a double that rounds to the same 16 bits: exactly, or with a last bit that represents all
/// lower bits (round to odd).
template <std::integral Integer>
[[nodiscard]] TESSERA_FUNCTION constexpr double to_odd(Integer value) {
  if constexpr (sizeof(Integer) > 4) {
    constexpr auto low = static_cast<Integer>(0xfff);
    constexpr auto exact = static_cast<Integer>(std::int64_t{1} << 53);
    bool const wide = value > exact || (value < 0 && value < -exact);
    if (wide && (value & low) != 0)
      return static_cast<double>((value | low) - (low >> 1));  // sets the bit above 11 zero bits
  }
  return static_cast<double>(value);
}

/// Common part of both types: 16 bits of storage that convert to a float when read.
template <class Bits>
class StoredFloat {
 public:
  StoredFloat() = default;
  TESSERA_FUNCTION constexpr StoredFloat(float value) : bits_(Bits::of(value)) {}  // NOLINT: a result is stored by `=`
  TESSERA_FUNCTION constexpr explicit StoredFloat(double value) : bits_(ShortFormat<Bits::mantissa>::rounded(value)) {}
  template <std::integral Integer>
  TESSERA_FUNCTION constexpr explicit StoredFloat(Integer value) : StoredFloat(to_odd(value)) {}

  [[nodiscard]] TESSERA_FUNCTION static constexpr StoredFloat from_bits(std::uint16_t bits) {
    StoredFloat result;
    result.bits_ = bits;
    return result;
  }
  [[nodiscard]] TESSERA_FUNCTION constexpr std::uint16_t bits() const { return bits_; }

  TESSERA_FUNCTION constexpr operator float() const {
    return Bits::as_float(bits_);
  }  // NOLINT: implicit, so that operators are those of float

  /// Changes only the sign bit: no rounding, and a NaN stays a NaN.
  [[nodiscard]] TESSERA_FUNCTION constexpr StoredFloat operator-() const {
    return from_bits(static_cast<std::uint16_t>(bits_ ^ 0x8000U));
  }

  TESSERA_FUNCTION constexpr StoredFloat& operator+=(float other) { return *this = *this + other; }
  TESSERA_FUNCTION constexpr StoredFloat& operator-=(float other) { return *this = *this - other; }
  TESSERA_FUNCTION constexpr StoredFloat& operator*=(float other) { return *this = *this * other; }
  TESSERA_FUNCTION constexpr StoredFloat& operator/=(float other) { return *this = *this / other; }

 private:
  std::uint16_t bits_;
};

}  // namespace detail

/// IEEE 754 binary16: the largest number is 65504, the smallest positive number 2^-24.
using Half = detail::StoredFloat<detail::HalfBits>;
/// The upper 16 bits of a float: the range of float with 8 significant bits.
using BFloat16 = detail::StoredFloat<detail::BFloat16Bits>;

/// Half or BFloat16.
template <class T>
concept ShortFloat = std::same_as<T, Half> || std::same_as<T, BFloat16>;

/// float, double, Half or BFloat16. std::floating_point accepts only the language's own types.
template <class T>
concept Floating = std::floating_point<T> || ShortFloat<T>;

/// The type of operations on T and of their sums: float for 16-bit floats, otherwise T.
template <class T>
using Arithmetic = std::conditional_t<ShortFloat<T>, float, T>;

namespace detail {
/// What differs from the limits of float.
template <class T, int Mantissa>
struct ShortLimits : std::numeric_limits<float> {
  static constexpr bool has_signaling_NaN = false;
  static constexpr int digits = Mantissa + 1;
  static constexpr int digits10 = Mantissa * 30103 / 100000;
  static constexpr int max_digits10 = 2 + digits * 30103 / 100000;
  static constexpr int max_exponent = 1 << (14 - Mantissa);
  static constexpr int min_exponent = 3 - max_exponent;
  static constexpr int max_exponent10 = max_exponent * 30103 / 100000;
  static constexpr int min_exponent10 = (min_exponent - 1) * 30103 / 100000;

  [[nodiscard]] static constexpr T of(int bits) noexcept { return T::from_bits(static_cast<std::uint16_t>(bits)); }
  [[nodiscard]] static constexpr T min() noexcept { return of(1 << Mantissa); }
  [[nodiscard]] static constexpr T max() noexcept { return of(ShortFormat<Mantissa>::infinity - 1); }
  [[nodiscard]] static constexpr T lowest() noexcept { return -max(); }
  [[nodiscard]] static constexpr T epsilon() noexcept { return of((max_exponent - 1 - Mantissa) << Mantissa); }
  [[nodiscard]] static constexpr T round_error() noexcept { return of((max_exponent - 2) << Mantissa); }
  [[nodiscard]] static constexpr T infinity() noexcept { return of(ShortFormat<Mantissa>::infinity); }
  [[nodiscard]] static constexpr T quiet_NaN() noexcept { return of(ShortFormat<Mantissa>::quiet); }
  [[nodiscard]] static constexpr T signaling_NaN() noexcept { return quiet_NaN(); }
  [[nodiscard]] static constexpr T denorm_min() noexcept { return of(1); }
};
}  // namespace detail

static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2 && std::is_trivially_copyable_v<Half> &&
              std::is_trivially_default_constructible_v<BFloat16>);

}  // namespace tessera

template <>
class std::numeric_limits<tessera::Half> : public tessera::detail::ShortLimits<tessera::Half, 10> {};
template <>
class std::numeric_limits<tessera::BFloat16> : public tessera::detail::ShortLimits<tessera::BFloat16, 7> {};

#undef TESSERA_FUNCTION
