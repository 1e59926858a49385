#pragma once
/// \file
/// The counter-based generator of inputs: element i of a stream is a pure function of (seed, stream, i), so that every
/// rank and thread can make its own slice, in any order, with the same result on every machine.
/// Source: the mixing function is SplitMix64's (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
/// 2014).

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tessera {

/// 64 well-mixed bits for (seed, stream, index).
[[nodiscard]] constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  auto const mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  };
  return mix(mix(seed + 0x9E3779B97F4A7C15ULL * (stream + 1)) + 0x9E3779B97F4A7C15ULL * (index + 1));
}

/// Uniform in [-1, 1) for floating types (24 random bits, so that float and double see the same numbers), uniform in
/// [-100, 100] for integers.
template <class T>
[[nodiscard]] constexpr T random_value(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  std::uint64_t const bits = random_bits(seed, stream, index);
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(static_cast<std::int32_t>(bits >> 40) - (1 << 23)) / static_cast<T>(1 << 23);
  } else {
    return static_cast<T>(static_cast<std::int32_t>((bits >> 32) % 201) - 100);
  }
}

}  // namespace tessera
