#pragma once
/// \file
/// Values in scratch with indices padded against bank conflicts: value i lies at place i + i / row.
///
/// A GPU's scratch is spread over 32 banks of 4 bytes: a row of all banks holds 128 bytes, which are 32 floats or 16
/// doubles. In one pass each bank delivers one word, so a warp that needs n words of one bank waits for n passes. A
/// tree in scratch (blelloch.hpp) reads values that are 2, 4, 8 ... apart. They lie in a half, a quarter, an eighth ...
/// of the banks. With an unused place after every row, values that are a row apart lie in neighbouring banks.
///
/// Example, banks (and row) of 4: the values a to h, and the places of each.
///
///     in order   a b c d | e f g h            i = 0 1 2 3 4 5 6 7 in bank 0 1 2 3 0 1 2 3
///     padded     a b c d | . e f g | h . . .  i = 0 1 2 3 4 5 6 7 in bank 0 1 2 3 1 2 3 0
///
/// Four threads that read b, d, f, h (values 1, 3, 5, 7; two apart) use only banks 1 and 3 and need two passes; padded
/// they use banks 1, 3, 2 and 0 and need one pass. Two threads that read d, h (four apart) use only bank 3; padded they
/// use banks 3 and 0.
///
/// Some conflicts remain: in a tile of more than row * row values, values that are at least a row apart can share a
/// bank again. In a tree these are the few nodes near the root: two floats per bank in a tile of 2048, one in a tile of
/// 1024.
/// Source: Harris, Sengupta and Owens, Parallel prefix sum (scan) with CUDA (GPU Gems 3, 2007), section 39.2.3.

#include <Kokkos_Macros.hpp>

namespace tessera::team {

/// The number of values in one row of all banks of a GPU's scratch.
template <class T>
inline constexpr int bank_row = sizeof(T) < 128 ? static_cast<int>(128 / sizeof(T)) : 1;

/// Returns the place of value i, with an unused place after each `row` values.
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr int padded_place(int i, int row) { return i + i / row; }

/// Returns the number of places for n values.
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr int padded_length(int n, int row) {
  return n > 0 ? padded_place(n - 1, row) + 1 : 0;
}

/// A View of scratch with padded indices, for collectives that take a View as Values.
///
/// May be called by any thread, at any time. Scratch: for n values the caller's View of padded_length(n, Row).
/// Barriers: none.
template <class Values, int Row = bank_row<typename Values::non_const_value_type>>
struct BankPadded {
  using non_const_value_type = typename Values::non_const_value_type;

  Values values;

  [[nodiscard]] KOKKOS_FUNCTION non_const_value_type& operator()(int i) const { return values(padded_place(i, Row)); }
};

}  // namespace tessera::team
