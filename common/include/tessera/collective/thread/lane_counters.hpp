#pragma once
/// \file
/// Counters of a lane's own, side by side in scratch: counting needs neither atomics nor the other lanes, and no two
/// lanes meet in a bank.
///
/// A word of 32 bits holds 4 counters of 8 bits or one of 32; word w of lane l is at w * W + l, so that on a GPU with 32
/// lanes a lane has a bank to itself, whatever it counts. 8 bits: four times as many counters in the same scratch, at
/// the price of a flush after 255 elements of a lane, which costs a load, a store and six operations a word: for 64
/// words (256 counters) about 2 operations an element. 16 bits would halve the teams on a multiprocessor to save 1.9 of
/// them. 32 bits: hosts, where scratch is a cache and lanes are few.
///
/// Example, W = 2, 3 counters of 8 bits, one word a lane; lane 0 counts 0 0 2, lane 1 counts 2: the words are 0x00010002
/// and 0x00010000; flushed: 2, 0, 2.

#include <Kokkos_Macros.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <tessera/collective/lane/lanes.hpp>

namespace tessera::thread {

/// `count` counters for each of the W lanes of one thread. Counter: std::uint8_t or std::uint32_t.
template <lane::Lanes L, class Counter>
struct LaneCounters {
  static_assert(std::is_same_v<Counter, std::uint8_t> || std::is_same_v<Counter, std::uint32_t>);
  static_assert(sizeof(Counter) == 4 || std::endian::native == std::endian::little, "counter k is bits 8k to 8k + 7");
  static constexpr int in_word = 4 / static_cast<int>(sizeof(Counter));
  /// What a lane may count between two flushes.
  static constexpr std::uint32_t limit = std::numeric_limits<Counter>::max();

  /// Words of scratch for one thread.
  [[nodiscard]] KOKKOS_FUNCTION static constexpr int words_for(int count) {
    return (count + in_word - 1) / in_word * L::width;
  }

  std::uint32_t* words;  // words_for(count)
  int count;

  /// Who calls: all lanes of the thread, before they count.
  KOKKOS_FUNCTION void set_to_zero(L const& lanes) const {
    lanes.each([&](int lane) {
      for (int at = lane; at < words_for(count); at += L::width) words[at] = 0;
    });
  }

  /// Who calls: any lane, with its own number.
  KOKKOS_FUNCTION void add_one(int lane, int index) const {
    // ((of / in_word) * W + lane) * in_word + of % in_word, in two multiply-adds and an `and` on a GPU.
    auto const of = static_cast<std::uint32_t>(index);
    std::uint32_t const in_lane = of * L::width - of % in_word * (L::width - 1);
    ++reinterpret_cast<Counter*>(words + lane)[in_lane];
  }

  /// Calls `body(index, sum over the lanes)`, each index in some lane, and sets the counters to zero. With 8 bits W is
  /// at most 64: sums of 16 bits hold.
  ///
  /// Who calls: all lanes of the thread together. Barriers: lanes.sync() before and after.
  template <class Body>
  KOKKOS_FUNCTION void flush(L const& lanes, Body const& body) const {
    lanes.sync();
    lanes.each([&](int lane) {
      for (int word = lane; word * in_word < count; word += L::width) {
        std::uint32_t even = 0;  // of bytes 0 and 2, or of the one counter
        std::uint32_t odd = 0;   // of bytes 1 and 3
        for (int i = 0; i < L::width; ++i) {
          // Lanes begin with their own: they are at words of the same rank in the bank, and must not all want lane 0's.
          std::uint32_t& at = words[word * L::width + ((i + lane) & (L::width - 1))];
          if constexpr (in_word == 1) {
            even += at;
          } else {
            even += at & 0x00ff00ffu;
            odd += (at >> 8) & 0x00ff00ffu;
          }
          at = 0;
        }
        if constexpr (in_word == 1) {
          body(word, even);
        } else {
          int const first = word * in_word;
          std::uint32_t const sums[4] = {even & 0xffffu, odd & 0xffffu, even >> 16, odd >> 16};
          for (int k = 0; k < 4; ++k) {
            if (first + k < count) body(first + k, sums[k]);
          }
        }
      }
    });
    lanes.sync();
  }
};

}  // namespace tessera::thread
