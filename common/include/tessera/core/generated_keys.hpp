#pragma once
/// \file
/// Generated keys of all types that mini-apps sort or select: integers and floats of 32 or 64 bits.

#include <cstdint>
#include <limits>
#include <type_traits>

#include <tessera/core/random.hpp>

namespace tessera {

/// Returns the key that a word stands for: a float in [-1, 1), or an integer of the whole range. Keys rise with words.
template <class T>
[[nodiscard]] constexpr T key_of_word(std::uint64_t word) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(static_cast<double>(static_cast<std::int64_t>(word ^ sign)) * 0x1p-63);
  } else {
    return static_cast<T>((std::is_signed_v<T> ? word ^ sign : word) >> (64 - 8 * sizeof(T)));
  }
}

/// Returns an adversarial_value, or one of NaN, both infinities and the lowest number.
template <class T>
[[nodiscard]] constexpr T adversarial_key(Draw const& draw) {
  if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    std::uint64_t const bits = random_bits(draw.seed, 2, draw.index);
    T const special[] = {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), -Limits::max()};
    if (bits % 8 == 5) return special[(bits >> 8) % 4];
  }
  return adversarial_value<T>(draw.seed, draw.field, draw.index);
}

}  // namespace tessera
