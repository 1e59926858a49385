#pragma once
/// \file
/// Generated terms for 16-bit results: their sum is a small number for any number of terms. A sum of positive terms
/// would be rounded when it is stored, and the rounding could hide a lost term.

#include <cstdint>

#include <tessera/core/random.hpp>

namespace tessera {

/// One term of the sum: `sign` (1, -1 or 0) times the positive value of term number `of`; or the remainder.
struct BalancedTerm {
  std::uint64_t of;
  int sign;
  bool remainder;
};

/// Returns term i of n. The second half repeats the terms of the first half with the opposite sign and rotated: it
/// starts one third into the first half. The last term, the remainder, is the sum of all terms. If n is even, a zero
/// term stands before the remainder.
///
/// The loss or duplication of a run of terms on one side of the middle changes the sum, because all terms on that side
/// have the same sign. In a run across the middle the terms do not cancel, because the second half is rotated. The sum
/// is an integer of few bits, so that the dtype represents the sum and its neighbours. Partial sums, in any order, are
/// not larger than the partial sums of positive terms.
///
/// Example, n = 7, terms 5 1 2: 5 1 2 | -1 -2 -5 | r -> r; n = 8: 5 1 2 | -1 -2 -5 | 0 r.
[[nodiscard]] constexpr BalancedTerm balanced_term(std::uint64_t n, std::uint64_t i) {
  std::uint64_t const half = (n - 1) / 2;
  if (i + 1 == n) return {i, 1, true};
  if (i < half) return {i, 1, false};
  if (i == 2 * half) return {i, 0, false};
  std::uint64_t const from = i - half + half / 3;
  return {from < half ? from : from - half, -1, false};
}

/// Returns the remainder, 1 to 64. It has at most 7 of bfloat16's 8 significant bits, so that bfloat16 also represents
/// twice the sum.
[[nodiscard]] constexpr std::uint64_t balance_remainder(std::uint64_t seed, std::uint64_t line) {
  return 1 + random_bits(seed + 2, 0, line) % 64;
}

/// Returns term `position` of sum number `line`, for exact data: positive whole numbers, dense in short sums and sparse
/// in long ones. 16-bit floats have signs, so that their sum is small.
template <class T>
[[nodiscard]] constexpr T exact_term(Draw const& draw, std::uint64_t line, std::uint64_t position) {
  Sparsity const sparsity = Sparsity::of(draw.terms);
  if constexpr (ShortFloat<T>) {
    BalancedTerm const term = balanced_term(draw.terms, position);
    if (term.remainder) return T(balance_remainder(draw.seed, line));
    return T(term.sign * static_cast<int>(sparsity.value(draw.seed, draw.field, line, term.of)));
  }
  return static_cast<T>(sparsity.value(draw.seed, draw.field, line, position));
}

}  // namespace tessera
