#pragma once
/// \file
/// Division by a number that is known before the kernel starts: one multiplication and one shift, where a GPU divides
/// 64-bit integers in some hundred instructions.
///
/// Source: Granlund and Montgomery, Division by invariant integers using multiplication (PLDI 1994), theorem 4.2: with
/// 2^(s-1) < d <= 2^s and f = ceil(2^(63+s) / d), f * d exceeds 2^(63+s) by less than 2^s, so that
/// floor(x * f / 2^(63+s)) is floor(x / d) for every x below 2^63; and f is below 2^64.
///
/// Example, d = 3: s = 2, f = ceil(2^65 / 3); x = 7 -> 2.

#include <Kokkos_Macros.hpp>

#include <bit>
#include <cstdint>

namespace tessera::collective {

/// Who calls: any thread.
class Divider {
 public:
  /// \param divisor at least 1 and at most 2^63
  explicit constexpr Divider(std::uint64_t divisor) : shift_(std::bit_width(divisor - 1)) {
    factor_ = static_cast<std::uint64_t>(((Wide{1} << (63 + shift_)) + (divisor - 1)) / divisor);
  }

  /// value / divisor, rounded down; value is below 2^63.
  [[nodiscard]] KOKKOS_FUNCTION constexpr std::uint64_t operator()(std::uint64_t value) const {
    return static_cast<std::uint64_t>((Wide{2 * value} * factor_) >> 64) >> shift_;
  }

 private:
  __extension__ using Wide = unsigned __int128;

  std::uint64_t factor_ = 0;
  int shift_;
};

}  // namespace tessera::collective
