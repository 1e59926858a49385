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

  /// Returns the four words of a counter. Other counts of rounds are for tests of tests.
  template <int rounds = full_rounds>
  [[nodiscard]] KOKKOS_FUNCTION static constexpr Block block(Block counter, Key key) {
    TESSERA_UNROLL
    for (int round = 0; round < rounds; ++round) {
      std::uint64_t const first = std::uint64_t{0xD2511F53} * counter[0];
      std::uint64_t const second = std::uint64_t{0xCD9E8D57} * counter[2];
      counter = {static_cast<Word>(second >> 32) ^ counter[1] ^ key[0], static_cast<Word>(second),
                 static_cast<Word>(first >> 32) ^ counter[3] ^ key[1], static_cast<Word>(first)};
      key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
    }
    return counter;
  }
};

}  // namespace tessera::collective
