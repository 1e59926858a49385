#pragma once
/// \file
/// Generated keys of mini-apps that sort.

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <tessera/core/generated_keys.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>

namespace tessera {

/// The distribution of generated keys; with `--data adversarial` it is ignored.
enum class KeyDistribution : std::uint8_t {
  uniform,      ///< all integers, or numbers in [-1, 1), equally likely
  sorted,       ///< rising from the lowest to the highest key
  reversed,     ///< falling
  constant,     ///< one key
  few,          ///< 16 keys, equally likely
  zipf,         ///< key number r of 2^16 has a probability of about 1 / r
  low_entropy,  ///< the bitwise AND of several random words, as in CUB's benchmarks
};

/// Returns the parameter `distribution`.
[[nodiscard]] inline ParameterSpec distribution_parameter() {
  return {.name = "distribution",
          .help = "of generated keys: uniform, sorted, reversed, constant, few (16 keys), zipf, or low_entropy",
          .shapes_generated = true};
}
/// Returns its values.
[[nodiscard]] inline std::vector<std::pair<std::string, KeyDistribution>> distribution_names() {
  return {{"uniform", KeyDistribution::uniform},
          {"sorted", KeyDistribution::sorted},
          {"reversed", KeyDistribution::reversed},
          {"constant", KeyDistribution::constant},
          {"few", KeyDistribution::few},
          {"zipf", KeyDistribution::zipf},
          {"low_entropy", KeyDistribution::low_entropy}};
}
/// Returns the parameter `words`.
[[nodiscard]] inline ParameterSpec words_parameter() {
  return extent_parameter("words", "random words whose bitwise AND is a key of low_entropy", 1, 64);
}
/// Throws UserError if no bit would be left in a key of so many words.
inline void check_words(std::int64_t words) {
  if (words <= 64) return;
  throw UserError("words = " + std::to_string(words) + " (the bitwise AND of so many has no bits); choose 1 to 64");
}

namespace detail {

/// Returns the word of a generated key. Words are uniform if keys are.
[[nodiscard]] inline std::uint64_t key_word(Draw const& draw, KeyDistribution distribution, std::int64_t words) {
  std::uint64_t const bits = random_bits(draw.seed, 0, draw.index);
  std::uint64_t const n = (*draw.shapes)[0][0];
  std::uint64_t const step = std::numeric_limits<std::uint64_t>::max() / n;
  switch (distribution) {
    case KeyDistribution::uniform:
      // Few keys of 64 bits have a neighbour that differs only in its lowest bits, so that these would not matter.
      return draw.index % 64 == 63 ? random_bits(draw.seed, 1, bits % 16) ^ (bits >> 48) : bits;
    case KeyDistribution::sorted: return draw.index * step;
    case KeyDistribution::reversed: return (n - 1 - draw.index) * step;
    case KeyDistribution::constant: return random_bits(draw.seed, 1, 0);
    case KeyDistribution::few: return random_bits(draw.seed, 1, bits % 16);
    case KeyDistribution::zipf: return random_bits(draw.seed, 1, zipf_rank(bits, 65536));
    case KeyDistribution::low_entropy: {
      std::uint64_t common = bits;
      for (std::int64_t w = 1; w < words; ++w) {
        common &= random_bits(draw.seed, static_cast<std::uint64_t>(w + 1), draw.index);
      }
      return common;
    }
  }
  return bits;
}

}  // namespace detail

/// Returns key `draw.index` of the first field. Adversarial keys include NaN, infinities, zeros of both signs, and
/// denormals.
template <class T>
[[nodiscard]] T generated_key(Draw const& draw, KeyDistribution distribution, std::int64_t words) {
  if (draw.data == DataKind::adversarial) return adversarial_key<T>(draw);
  return key_of_word<T>(detail::key_word(draw, distribution, words));
}

}  // namespace tessera
