#pragma once
/// \file
/// An element of a float reference in 8 bytes instead of 24: value, scale and offset. A large reference would otherwise
/// take more memory than the case itself.
///
/// A result that passes with the whole element also passes with the compact one, and a bound B grows by less than
/// B / 2^13 + ulp / 16, ulp being that of the value:
/// - The value is a float and its rest in 64ths of an ulp. It is off by at most 1/32 of its ulp, which
///   `compact_half_ulps` allows. Rounded to float it is the same float, so that a result that must be equal must be
///   equal to the same number.
/// - A scale or an offset keeps 13 bits behind its leading one and is rounded up. Zero and infinity stay.
/// - A scale that is the magnitude of the value takes no bits. It grows by 2^-24 of itself and by the smallest float.
///
/// Elements that do not fit: a scale that is not the magnitude, together with an offset; a value beyond the range of
/// float that has bounds; a bound that is NaN or negative.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include <tessera/core/types.hpp>
#include <tessera/core/with_dtype.hpp>

namespace tessera {

/// Half ulps of a compact value that its bound includes: one, as for every value, and what packing may have lost.
inline constexpr double compact_half_ulps = 1 + 0x1p-4;

/// An element of a reference.
struct WholeElement {
  double value = 0;
  double scale = 0;
  double offset = 0;
};

namespace detail {

// The word of a compact element, from its highest bit on: 2 bits for its kind, 6 for the rest, 24 for a bound.
enum class CompactKind : std::uint32_t { offset = 0, offset_and_magnitude = 1, scale = 2 };
inline constexpr int bits_of_bound = 24;
inline constexpr int dropped_bits = 63 - bits_of_bound;  // of a double without its sign

// The next larger number that 24 bits hold: of a double they are the exponent and 13 bits of the fraction.
[[nodiscard]] inline std::uint32_t rounded_up(double bound) {
  std::uint64_t const bits = std::bit_cast<std::uint64_t>(std::abs(bound));
  return static_cast<std::uint32_t>((bits + ((std::uint64_t{1} << dropped_bits) - 1)) >> dropped_bits);
}

// 1/64 of the distance from a float to the next larger magnitude is 2^exponent.
[[nodiscard]] inline int exponent_of_rest(float value) {
  auto const biased = static_cast<int>(std::bit_cast<std::uint32_t>(value) >> 23 & 0xFF);
  return std::max(biased, 1) - 127 - 23 - 6;
}
[[nodiscard]] inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

// Returns an element as a double, which may round an integer of 64 bits.
[[nodiscard]] inline double element_of(DType dtype, void const* elements, std::size_t i) {
  return with_dtype(dtype, [&]<class T>() { return static_cast<double>(static_cast<T const*>(elements)[i]); });
}

// Returns `a` where the mask's bits are 1, `b` where they are 0.
[[nodiscard]] inline double chosen(std::uint64_t mask, double a, double b) {
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(a) & mask) | (std::bit_cast<std::uint64_t>(b) & ~mask));
}
[[nodiscard]] inline std::uint64_t mask_if(bool condition) { return condition ? ~std::uint64_t{0} : 0; }

}  // namespace detail

/// Writes the element in compact form. Returns false if it does not fit.
[[nodiscard]] inline bool compact(WholeElement const& whole, CompactElement& to) {
  using detail::CompactKind;
  auto const value = static_cast<float>(whole.value);
  if (!(whole.scale >= 0) || !(whole.offset >= 0)) return false;
  bool const exact = whole.scale == 0 && whole.offset == 0;
  bool const unchecked = std::isinf(whole.scale) || std::isinf(whole.offset);
  if (std::isinf(value) && !std::isinf(whole.value) && !exact && !unchecked) return false;

  CompactKind kind = CompactKind::offset;
  double bound = whole.offset;
  if (whole.scale > 0 && whole.scale == std::abs(whole.value)) {
    kind = CompactKind::offset_and_magnitude;
  } else if (whole.scale > 0) {
    if (whole.offset > 0 && !std::isinf(whole.scale)) return false;
    kind = CompactKind::scale;
    bound = whole.scale;
  }
  std::uint32_t rest = 0;
  if (std::isfinite(value)) {
    // The difference of a double and its float is exact. It is rounded down, so that a value below a power of two,
    // where ulps are half as large, stays below it; but not to -32, because that could be rounded to another float.
    // Adding 3 2^51 rounds to a whole number, which then stands in the lowest bits: without a jump.
    double const lost = std::abs(whole.value) - std::abs(static_cast<double>(value));
    double const units = std::max(lost * detail::power_of_two(-detail::exponent_of_rest(value)), -30.5);
    rest = std::bit_cast<std::uint64_t>(units - 0.5 + 0x1.8p52) & 0x3F;
  }
  to.value = value;
  to.bounds = static_cast<std::uint32_t>(kind) << 30 | rest << detail::bits_of_bound | detail::rounded_up(bound);
  return true;
}

/// Returns the same, or nothing if it does not fit. Slower: an optional element is stored and read again.
[[nodiscard]] inline std::optional<CompactElement> compacted(WholeElement const& whole) {
  CompactElement element{};
  return compact(whole, element) ? std::optional(element) : std::nullopt;
}

/// Returns the element that a compact element stands for. Has no branches, so that compilers make vectors of a loop.
[[nodiscard]] inline WholeElement expanded(CompactElement const& compact) {
  using detail::chosen, detail::CompactKind, detail::mask_if;
  std::uint32_t const kind = compact.bounds >> 30;
  std::uint64_t const is_scale = mask_if(kind == static_cast<std::uint32_t>(CompactKind::scale));
  std::uint64_t const has_magnitude = mask_if(kind == static_cast<std::uint32_t>(CompactKind::offset_and_magnitude));
  // -31 to 32, modulo 64.
  int const rest = static_cast<int>(((compact.bounds >> detail::bits_of_bound) + 31) & 0x3F) - 31;
  double const bound = std::bit_cast<double>(std::uint64_t{compact.bounds & 0xFF'FFFFU} << detail::dropped_bits);
  auto const nearest = static_cast<double>(compact.value);
  double const magnitude = std::abs(nearest) + rest * detail::power_of_two(detail::exponent_of_rest(compact.value));
  double const of_magnitude = magnitude * (1 + 0x1p-24) + static_cast<double>(std::numeric_limits<float>::denorm_min());
  return {.value = std::copysign(magnitude, nearest),
          .scale = chosen(is_scale, bound, chosen(has_magnitude, of_magnitude, 0)),
          .offset = chosen(is_scale, 0, bound)};
}

/// Returns an element's value, in whatever form the field has it.
[[nodiscard]] inline double value_at(ExpectedField const& field, std::size_t i) {
  if (field.compact != nullptr) return expanded(field.compact.get()[i]).value;
  if (field.moved.data != nullptr) return detail::element_of(field.moved.dtype, field.moved.data.get(), i);
  return field.narrow != nullptr ? static_cast<double>(field.narrow.get()[i]) : field.value.at(i);
}

}  // namespace tessera
