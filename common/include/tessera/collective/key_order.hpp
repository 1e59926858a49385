#pragma once
/// \file
/// The order in which keys are sorted: each key as an unsigned word, and words in ascending order.
///
/// Called by any lane; no scratch, no barriers.
///
/// - Integers: the sign bit is flipped, so that negative keys come first.
/// - Floats: positive numbers get their sign bit set, and negative numbers have all bits flipped. Zeros of both signs
///   have the same word. Each NaN has the largest word.
/// - Descending: all bits are flipped, except in the word of a NaN, which stays last.
/// - Bits: only the bits from `begin_bit` to `end_bit - 1` of the word count.
///
/// Example, float: -1 -> 0x407fffff, -0 and 0 -> 0x80000000, 1 -> 0xbf800000, NaN -> 0xffffffff.
/// Source: D. Knuth, The Art of Computer Programming 3; radix sorts on GPUs use the same bit patterns.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tessera::collective {

/// The unsigned integer as wide as a key of 4 or 8 bytes.
template <class T>
using KeyWord = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// The bits of a key's word.
template <class T>
inline constexpr int key_bits = 8 * static_cast<int>(sizeof(T));

/// Returns the word of a key: `word(a) < word(b)` if a comes before b in ascending order.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION KeyWord<T> ascending_word(T key) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  using Word = KeyWord<T>;
  constexpr Word sign = Word(1) << (key_bits<T> - 1);
  if constexpr (std::is_floating_point_v<T>) {
    if (key != key) return ~Word(0);
    if (key == T(0)) return sign;
    Word const bits = Kokkos::bit_cast<Word>(key);
    return (bits & sign) != 0 ? ~bits : bits | sign;
  } else {
    return std::is_signed_v<T> ? static_cast<Word>(key) ^ sign : static_cast<Word>(key);
  }
}

/// An order of keys: up or down, by all bits of their words or by some.
template <class T>
class KeyOrder {
 public:
  using Word = KeyWord<T>;

  KOKKOS_DEFAULTED_FUNCTION KeyOrder() = default;
  /// \param begin_bit, end_bit the bits that count; 0 <= begin_bit < end_bit <= key_bits<T>
  KOKKOS_INLINE_FUNCTION explicit KeyOrder(bool descending, int begin_bit = 0, int end_bit = key_bits<T>)
      : flip_(descending ? ~Word(0) : Word(0)),
        begin_bit_(begin_bit),
        mask_(~Word(0) >> (key_bits<T> - (end_bit - begin_bit))) {}

  /// Returns the bits of the key's word that count, shifted down to bit 0.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION Word operator()(T key) const {
    Word const word = ascending_word(key);
    bool const is_nan = std::is_floating_point_v<T> && word == ~Word(0);
    return ((is_nan ? word : word ^ flip_) >> begin_bit_) & mask_;
  }

  /// Returns whether `a` must come before `b`. If neither comes before the other, a stable sort keeps their order.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION bool before(T a, T b) const { return (*this)(a) < (*this)(b); }

 private:
  Word flip_ = 0;
  int begin_bit_ = 0;
  Word mask_ = ~Word(0);
};

}  // namespace tessera::collective
