#pragma once
/// \file
/// The order in which keys are sorted: each key as an unsigned word, and words in ascending order.
///
/// Called by any lane; no scratch, no barriers.
///
/// - Integers: the sign bit is flipped, so that negative keys come first.
/// - Floats: positive numbers get their sign bit set, and negative numbers have all bits flipped. Zeros of both signs
///   have the same word. Each NaN has the largest word.
/// - Descending: all bits are flipped, except in the word of a NaN, which stays last. (A float is negated, which flips
///   the same bits.)
/// - Bits: only the bits from `begin_bit` to `end_bit - 1` of the word count.
///
/// Example, float: -1 -> 0x407fffff, -0 and 0 -> 0x80000000, 1 -> 0xbf800000, NaN -> 0xffffffff.
/// Source: D. Knuth, The Art of Computer Programming 3; radix sorts on GPUs use the same bit patterns.

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace tessera::collective {

/// The unsigned integer as wide as a key of 4 or 8 bytes.
template <class T>
using KeyWord = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// The bits of a key's word.
template <class T>
inline constexpr int key_bits = 8 * static_cast<int>(sizeof(T));

/// Returns the word of a float. `sign`: 1, or -1 for the descending order. No branches: a sort computes a word several
/// times per key and pass.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION KeyWord<T> float_word(T key, T sign) {
  static_assert(std::is_floating_point_v<T>);
  using Word = KeyWord<T>;
  constexpr Word highest = Word(1) << (key_bits<T> - 1);
  T number = (key + T(0)) * sign;  // -0 + 0 is 0; the descending zero is -0, whose word is the flipped one
#if defined(__CUDA_ARCH__)
  // PTX: a NaN that a product returns is 0x7fffffff. Written out, because a compiler may flip the sign bit instead.
  if constexpr (sizeof(T) == 4) asm("mul.f32 %0, %1, %2;" : "=f"(number) : "f"(key + T(0)), "f"(sign));
#endif
  Word const bits = Kokkos::bit_cast<Word>(number);
  auto const is_negative = static_cast<Word>(static_cast<std::make_signed_t<Word>>(bits) >> (key_bits<T> - 1));
  Word const word = bits ^ (is_negative | highest);
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 4) return word;
#endif
  return number != number ? ~Word(0) : word;
}

/// Returns the word of a key: `word(a) < word(b)` if a comes before b in ascending order.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION KeyWord<T> ascending_word(T key) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  using Word = KeyWord<T>;
  if constexpr (std::is_floating_point_v<T>) {
    return float_word(key, T(1));
  } else {
    return std::is_signed_v<T> ? static_cast<Word>(key) ^ (Word(1) << (key_bits<T> - 1)) : static_cast<Word>(key);
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
      : direction_(direction(descending)),
        begin_bit_(begin_bit),
        mask_(~Word(0) >> (key_bits<T> - (end_bit - begin_bit))) {}

  /// Returns the bits of the key's word that count, shifted down to bit 0.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION Word operator()(T key) const {
    if constexpr (is_float) {
      return (float_word(key, direction_) >> begin_bit_) & mask_;
    } else {
      return ((ascending_word(key) ^ direction_) >> begin_bit_) & mask_;
    }
  }

  /// Returns the key that has this word; all bits of keys must count. Several NaNs have one word, and so have 0 and -0:
  /// of these one is returned (see has_own_word).
  [[nodiscard]] KOKKOS_INLINE_FUNCTION T key_of(Word word) const {
    constexpr Word highest = Word(1) << (key_bits<T> - 1);
    if constexpr (is_float) {
      return Kokkos::bit_cast<T>(static_cast<Word>((word & highest) != 0 ? word ^ highest : ~word)) * direction_;
    } else {
      return static_cast<T>(word ^ direction_ ^ (std::is_signed_v<T> ? highest : Word(0)));
    }
  }
  /// Returns whether only equal bits have the word of the key.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION static bool has_own_word(T key) {
    if constexpr (is_float) {
      return key == key && (key != T(0) || Kokkos::bit_cast<Word>(key) == 0);
    } else {
      return true;
    }
  }

  /// Returns whether `a` must come before `b`. If neither comes before the other, a stable sort keeps their order.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION bool before(T a, T b) const { return (*this)(a) < (*this)(b); }

 private:
  static constexpr bool is_float = std::is_floating_point_v<T>;
  using Direction = std::conditional_t<is_float, T, Word>;
  [[nodiscard]] KOKKOS_INLINE_FUNCTION static constexpr Direction direction(bool descending) {
    if constexpr (is_float) {
      return descending ? T(-1) : T(1);
    } else {
      return descending ? ~Word(0) : Word(0);
    }
  }

  Direction direction_ = direction(false);  ///< floats: a factor; integers: the bits to flip
  int begin_bit_ = 0;
  Word mask_ = ~Word(0);
};

}  // namespace tessera::collective
