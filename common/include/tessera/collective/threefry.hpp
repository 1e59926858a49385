#pragma once
/// \file
/// Threefry4x64: a counter-based generator of random 64-bit words, made by additions, rotations and exclusive ors. A
/// block of four words is a function of a counter and a key; there is no state.
///
/// Source: Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC'11). The rounds come from the
/// cipher Threefish (Ferguson and others, The Skein hash function family, 2010).
///
/// Example: counter 0, 0, 0, 0, key 0, 0, 0, 0 -> 09218ebde6c85537, 55941f5266d86105, 4bd25e16282434dc,
/// ee29ec846bd2e40b.
///
/// May be called by any thread. No scratch, no barriers.

#include <Kokkos_Core.hpp>

#include <cstdint>

#include <tessera/core/unroll.hpp>

namespace tessera::collective {

struct Threefry4x64 {
  using Word = std::uint64_t;
  using Block = Kokkos::Array<Word, 4>;
  using Key = Block;
  static constexpr int full_rounds = 20;

  /// Returns the four words of a counter. Other numbers of rounds show that the statistical tests find bad words.
  template <int rounds = full_rounds>
  [[nodiscard]] KOKKOS_FUNCTION static constexpr Block block(Block x, Key const& key) {
    constexpr int rotations[8][2] = {{14, 16}, {52, 57}, {23, 40}, {5, 37}, {25, 33}, {46, 12}, {58, 22}, {32, 32}};
    Word const keys[5] = {key[0], key[1], key[2], key[3], 0x1BD11BDAA9FC1A22 ^ key[0] ^ key[1] ^ key[2] ^ key[3]};
    for (int word = 0; word < 4; ++word) x[word] += keys[word];
    TESSERA_UNROLL
    for (int round = 0; round < rounds; ++round) {
      // Even rounds mix words 0 with 1 and 2 with 3, odd rounds 0 with 3 and 2 with 1.
      int const with_first = round % 2 == 0 ? 1 : 3;
      int const with_second = 4 - with_first;
      x[0] += x[with_first];
      x[with_first] = rotated(x[with_first], rotations[round % 8][0]) ^ x[0];
      x[2] += x[with_second];
      x[with_second] = rotated(x[with_second], rotations[round % 8][1]) ^ x[2];
      if (round % 4 != 3) continue;
      int const injection = round / 4 + 1;
      for (int word = 0; word < 4; ++word) x[word] += keys[(injection + word) % 5];
      x[3] += static_cast<Word>(injection);
    }
    return x;
  }

 private:
  // std::rotl is a function of hosts: in device code it computes nothing.
  [[nodiscard]] KOKKOS_FUNCTION static constexpr Word rotated(Word word, int by) {
    return word << by | word >> (64 - by);
  }
};

}  // namespace tessera::collective
