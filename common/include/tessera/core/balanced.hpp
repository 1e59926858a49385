#pragma once
/// \file
/// Generated terms whose sum is a small number, however many there are, for results of 16 bits. If all were positive,
/// their sum would be rounded when it is stored, and the rounding could hide a lost term.

#include <cstdint>

#include <tessera/core/random.hpp>

namespace tessera {

/// A term of such a sum: the positive value of term `of` times `sign`, which is 1, -1 or 0; or the remainder.
struct BalancedTerm {
  std::uint64_t of;
  int sign;
  bool remainder;
};

/// Term i of n. The second half repeats the terms of the first with the other sign, and in another order: those from a
/// third of the first half on come first. The last term, the remainder, is the sum of all; if n is even, a zero stands
/// beside it.
///
/// If a run of terms on one side of the middle is lost or doubled, no other makes up for it, since all there have one
/// sign. In a run across the middle the terms do not cancel, because of the other order. The sum is a whole number of
/// few bits, so that the dtype has it and its neighbours. Partial sums, in any order, are at most those of a sum of
/// positive terms.
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

/// The remainder: 1 to 64, in 7 of bfloat16's 8 bits, so that bfloat16 holds twice the sum as well.
[[nodiscard]] constexpr std::uint64_t balance_remainder(std::uint64_t seed, std::uint64_t line) {
  return 1 + random_bits(seed + 2, 0, line) % 64;
}

}  // namespace tessera
