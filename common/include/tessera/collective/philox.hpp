#pragma once
/// \file
/// Philox4x32: a counter-based generator of random words. A block of four words is a function of a counter and a key;
/// there is no state. Ten rounds pass the statistical tests of TestU01's BigCrush; fewer than seven do not.
///
/// Source: Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC'11).
///
/// Example: counter 0, 0, 0, 0, key 0, 0 -> 6627e8d5, e169c58d, bc57ac4c, 9b00dbd8.
///
/// May be called by any thread. No scratch, no barriers.

#include <Kokkos_Core.hpp>

#include <cstdint>

#include <tessera/core/unroll.hpp>

namespace tessera::collective {

struct Philox4x32 {
  using Word = std::uint32_t;
  using Block = Kokkos::Array<Word, 4>;
  using Key = Kokkos::Array<Word, 2>;
  static constexpr int full_rounds = 10;

  /// Returns the four words of a counter. Other numbers of rounds show that the statistical tests find bad words.
  template <int rounds = full_rounds>
  [[nodiscard]] KOKKOS_FUNCTION static constexpr Block block(Block counter, Key key) {
    TESSERA_UNROLL
    for (int round = 0; round < rounds; ++round) {
      constexpr Word first = 0xD2511F53;
      constexpr Word second = 0xCD9E8D57;
      counter = {upper(second, counter[2]) ^ counter[1] ^ key[0], second * counter[2],
                 upper(first, counter[0]) ^ counter[3] ^ key[1], first * counter[0]};
      key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
    }
    return counter;
  }

 private:
  // The upper half of a product. From a product in 64 bits nvcc makes rounds of 64 bits, which take twice as many
  // instructions.
  [[nodiscard]] KOKKOS_FUNCTION static constexpr Word upper(Word a, Word b) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
    if (!__builtin_is_constant_evaluated()) return __umulhi(a, b);
#endif
    return static_cast<Word>((std::uint64_t{a} * b) >> 32);
  }
};

}  // namespace tessera::collective
