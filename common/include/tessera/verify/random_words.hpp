#pragma once
/// \file
/// Random words for references: the round functions of Philox4x32-10 and Threefry4x64-20 as the paper has them, one
/// element at a time, and the mapping of words to elements that collective/random.hpp documents. Shares no code with
/// it.
///
/// Source: Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC'11).

#include <array>
#include <cstddef>
#include <cstdint>

namespace tessera::verify {

/// The words of the elements of a stream.
class RandomWords {
 public:
  /// \param philox Philox4x32-10, otherwise Threefry4x64-20
  RandomWords(bool philox, std::uint64_t seed, std::uint32_t stream) : philox_(philox), seed_(seed), stream_(stream) {}

  /// Returns number `number` of element i, in 32 and in 64 bits.
  [[nodiscard]] std::uint32_t bits32(std::uint64_t i, std::uint32_t number) const {
    return philox_ ? word32(i, number) : static_cast<std::uint32_t>(word64(i, number));
  }
  /// Returns the numbers of elements i, which is even, and i + 1: one block has both.
  [[nodiscard]] std::array<std::uint32_t, 2> pair32(std::uint64_t i, std::uint32_t number) const {
    if (philox_) {
      Words32 const block = block32(i, number);
      return {block[i % 4], block[i % 4 + 1]};
    }
    Words64 const block = block64(i, number);
    return {static_cast<std::uint32_t>(block[i % 4]), static_cast<std::uint32_t>(block[i % 4 + 1])};
  }
  [[nodiscard]] std::uint64_t bits64(std::uint64_t i, std::uint32_t number) const {
    if (!philox_) return word64(i, number);
    return word32(i, 2 * number) + (std::uint64_t{word32(i, 2 * number + 1)} << 32);
  }

 private:
  using Words32 = std::array<std::uint32_t, 4>;
  using Words64 = std::array<std::uint64_t, 4>;

  [[nodiscard]] static Words32 philox(Words32 counter, std::uint64_t key) {
    auto low = static_cast<std::uint32_t>(key);
    auto high = static_cast<std::uint32_t>(key >> 32);
    for (int round = 1; round <= 10; ++round) {
      std::uint64_t const a = counter[0] * 0xD2511F53ULL;
      std::uint64_t const b = counter[2] * 0xCD9E8D57ULL;
      Words32 next{};
      next[0] = counter[1] ^ low ^ static_cast<std::uint32_t>(b >> 32);
      next[1] = static_cast<std::uint32_t>(b);
      next[2] = counter[3] ^ high ^ static_cast<std::uint32_t>(a >> 32);
      next[3] = static_cast<std::uint32_t>(a);
      counter = next;
      low += 0x9E3779B9U;   // the golden ratio
      high += 0xBB67AE85U;  // the root of 3, less 1
    }
    return counter;
  }

  static void mix(std::uint64_t& a, std::uint64_t& b, int bits) {
    a += b;
    b = (b << bits | b >> (64 - bits)) ^ a;
  }

  [[nodiscard]] static Words64 threefry(Words64 x, Words64 const& key) {
    std::array<std::uint64_t, 5> keys{};
    keys[4] = 0x1BD11BDAA9FC1A22ULL;
    for (std::size_t k = 0; k < 4; ++k) {
      keys[k] = key[k];
      keys[4] ^= key[k];
    }
    for (std::size_t subkey = 0;; ++subkey) {
      for (std::size_t k = 0; k < 4; ++k) x[k] += keys[(subkey + k) % 5];
      x[3] += subkey;
      if (subkey == 5) return x;
      bool const even = subkey % 2 == 0;
      mix(x[0], x[1], even ? 14 : 25);
      mix(x[2], x[3], even ? 16 : 33);
      mix(x[0], x[3], even ? 52 : 46);
      mix(x[2], x[1], even ? 57 : 12);
      mix(x[0], x[1], even ? 23 : 58);
      mix(x[2], x[3], even ? 40 : 22);
      mix(x[0], x[3], even ? 5 : 32);
      mix(x[2], x[1], even ? 37 : 32);
    }
  }

  // The words of element i and its three neighbours in one block.
  [[nodiscard]] Words32 block32(std::uint64_t i, std::uint32_t word) const {
    std::uint64_t const counter = i / 4;
    return philox({static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), stream_, word},
                  seed_);
  }
  [[nodiscard]] Words64 block64(std::uint64_t i, std::uint32_t word) const {
    return threefry({i / 4, stream_, word, 0}, {seed_, 0, 0, 0});
  }
  [[nodiscard]] std::uint32_t word32(std::uint64_t i, std::uint32_t word) const { return block32(i, word)[i % 4]; }
  [[nodiscard]] std::uint64_t word64(std::uint64_t i, std::uint32_t word) const { return block64(i, word)[i % 4]; }

  bool philox_;
  std::uint64_t seed_;
  std::uint32_t stream_;
};

}  // namespace tessera::verify
