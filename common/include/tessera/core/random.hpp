#pragma once
/// \file
/// The counter-based generator of inputs: element i of a stream is a pure function of (seed, stream, i). Every rank and
/// thread can generate its part in any order, with the same result on every machine. Source: the mixing function is
/// SplitMix64's (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

/// The element to generate. Its value depends on nothing else, so that any rank can generate its part.
struct Draw {
  std::size_t field = 0;  ///< index of the field in the Input
  std::size_t index = 0;  ///< flat, in C order
  std::uint64_t seed = 0;
  DataKind data = DataKind::random;
  std::uint64_t terms = 1;                     ///< in the longest sum of an output: the Problem's terms()
  std::vector<Shape> const* shapes = nullptr;  ///< of all input fields
};

/// Returns 64 well-mixed bits for (seed, stream, index).
[[nodiscard]] constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  auto const mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  };
  return mix(mix(seed + 0x9E3779B97F4A7C15ULL * (stream + 1)) + 0x9E3779B97F4A7C15ULL * (index + 1));
}

/// Returns a rank of 1 to `ranks` from 64 random bits. Rank r has a probability of log(1 + 1/r) / log(ranks + 1), about
/// 1 / r (Zipf); the logarithm replaces harmonic numbers.
[[nodiscard]] inline std::uint64_t zipf_rank(std::uint64_t bits, std::uint64_t ranks) {
  double const uniform = static_cast<double>(bits >> 11) * 0x1p-53;
  auto const most = static_cast<double>(ranks);
  return static_cast<std::uint64_t>(std::min(std::floor(std::exp(uniform * std::log(most + 1))), most));
}

/// Returns a number that is uniform in [-1, 1) for floating types, and in [-100, 100] for integers. float and double
/// get the same numbers, of 24 random bits. 16-bit floats get as many random bits as they hold, so that nothing is
/// rounded.
template <class T>
[[nodiscard]] constexpr T random_value(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  std::uint64_t const bits = random_bits(seed, stream, index);
  if constexpr (ShortFloat<T>) {
    constexpr int digits = std::numeric_limits<T>::digits;
    return static_cast<float>(static_cast<std::int32_t>(bits >> (64 - digits)) - (1 << (digits - 1))) /
           static_cast<float>(1 << (digits - 1));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(static_cast<std::int32_t>(bits >> 40) - (1 << 23)) / static_cast<T>(1 << 23);
  } else {
    return static_cast<T>(static_cast<std::int32_t>((bits >> 32) % 201) - 100);
  }
}

/// Returns a number that a kernel may handle wrongly: zeros of both signs, denormals, magnitudes from 2^-40 to 2^40 (in
/// Half from 2^-14 to 2^14), or neighbours that cancel except for their last bits. For integers: 0, 1 and -1, both ends
/// of the range, or any number. Sums of 2^32 of these numbers, or of products of two of them, stay in the range of
/// float.
template <class T>
[[nodiscard]] constexpr T adversarial_value(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  std::uint64_t const bits = random_bits(seed, stream, index);
  auto const kind = static_cast<unsigned>(bits % 8);
  bool const negative = (bits >> 3) % 2 != 0;
  if constexpr (Floating<T>) {
    using A = Arithmetic<T>;
    constexpr unsigned magnitudes = std::is_same_v<T, Half> ? 15 : 41;
    constexpr int neighbours = std::is_same_v<T, Half> ? 10 : 20;  // a power of two: neighbours' magnitude
    A const uniform = random_value<T>(seed, stream, index);
    switch (kind) {
      case 0: return negative ? -T(0) : T(0);
      case 1: return std::numeric_limits<T>::denorm_min() * static_cast<A>(static_cast<int>((bits >> 4) % 1001) - 500);
      case 2: return negative ? T(-1) : T(1);
      case 3:
      case 4: {  // cancels with the preceding neighbour, which has the opposite sign
        A const own = random_value<T>(seed, stream, index / 2) * static_cast<A>(1 << neighbours);
        return index % 2 == 0 ? own : -own + uniform;
      }
      default:
        return uniform * static_cast<A>(std::uint64_t{1} << ((bits >> 4) % magnitudes)) /
               static_cast<A>(std::uint64_t{1} << ((bits >> 10) % magnitudes));
    }
  } else {
    switch (kind) {
      case 0: return T(0);
      case 1: return negative ? T(-1) : T(1);
      case 2: return std::numeric_limits<T>::max();
      case 3: return std::numeric_limits<T>::min();
      default: return static_cast<T>(static_cast<std::uint32_t>(bits >> 16));
    }
  }
}

/// Returns the element for Problems without sums, or for data that are not exact: random_value or adversarial_value.
/// For exact data, the element has 24 random bits, and one rounded operation on it has only one correct result.
template <class T>
[[nodiscard]] constexpr T drawn(Draw const& draw) {
  return draw.data == DataKind::adversarial ? adversarial_value<T>(draw.seed, draw.field, draw.index)
                                            : random_value<T>(draw.seed, draw.field, draw.index);
}

/// Returns an integer of `bits` random bits, at least -2^(bits - 1).
template <class T>
[[nodiscard]] constexpr T whole_value(Draw const& draw, unsigned bits) {
  auto const whole = static_cast<std::int32_t>(random_bits(draw.seed, draw.field, draw.index) >> (64 - bits));
  return static_cast<T>(whole - (std::int32_t{1} << (bits - 1)));
}

/// Terms whose sum is exact in float in any order: defines which terms are not 0, and their range. The sum of all
/// `terms` terms (or of their products with factors up to `factor`) and every partial sum are at most 2^23. The terms
/// are positive, so that no term compensates for a lost term.
///
/// Each `block` of consecutive terms has exactly one nonzero term, at a random position. Every run of 2 * block - 1
/// consecutive terms therefore has a nonzero term, and the loss of the run is detected.
///
/// Example: 2^12 terms -> every one, up to 256; 2^24 terms -> one of 8, up to 4; 2^32 -> one of 2^11, up to 4.
struct Sparsity {
  std::uint64_t block;    ///< a power of two; 1: all terms are nonzero
  std::uint64_t largest;  ///< a power of two: values are 1 .. largest

  /// Returns the block of the term at `position`. By a shift: a division would take longer than the rest of the work
  /// for an element.
  [[nodiscard]] constexpr std::uint64_t block_of(std::uint64_t position) const {
    return position >> std::countr_zero(block);
  }

  [[nodiscard]] static constexpr Sparsity of(std::uint64_t terms, std::uint64_t factor = 1) {
    std::uint64_t const product = std::bit_ceil(std::max<std::uint64_t>(1, terms)) * std::bit_ceil(factor);
    std::uint64_t const budget = std::uint64_t{1} << 23;
    if (4 * product <= budget) return {1, std::min<std::uint64_t>(256, budget / product)};
    return {4 * product / budget, 4};
  }

  /// Returns the value of the term at `position` of sum number `line`: 0 or 1 .. largest.
  [[nodiscard]] constexpr std::uint64_t value(std::uint64_t seed, std::uint64_t stream, std::uint64_t line,
                                              std::uint64_t position) const {
    if (!counts(seed, stream, line, position)) return 0;
    return dense(seed, stream, line, position);
  }

  /// True if the term is not 0.
  [[nodiscard]] constexpr bool counts(std::uint64_t seed, std::uint64_t stream, std::uint64_t line,
                                      std::uint64_t position) const {
    if (block == 1) return true;
    std::uint64_t const place = random_bits(seed + 1, stream, (line << 36) + block_of(position)) & (block - 1);
    return (position & (block - 1)) == place;
  }

  /// Returns a value of 1 .. largest for any position.
  [[nodiscard]] constexpr std::uint64_t dense(std::uint64_t seed, std::uint64_t stream, std::uint64_t line,
                                              std::uint64_t position) const {
    return 1 + ((random_bits(seed, stream, (line << 36) + position) >> 32) & (largest - 1));
  }
};

}  // namespace tessera
