#pragma once
/// \file
/// Division by a number that is known before the kernel starts: one multiplication and one shift. A GPU needs about a
/// hundred instructions for a 64-bit integer division.
///
/// Source: Granlund and Montgomery, Division by invariant integers using multiplication (PLDI 1994), theorem 4.2. For
/// 2^(s-1) < d <= 2^s and f = ceil(2^(63+s) / d), f * d exceeds 2^(63+s) by less than 2^s. Therefore
/// floor(x * f / 2^(63+s)) is floor(x / d) for every x below 2^63, and f is below 2^64.
///
/// Example, d = 3: s = 2, f = ceil(2^65 / 3); x = 7 -> 2.

#include <Kokkos_Macros.hpp>

#include <bit>
#include <cstdint>

namespace tessera::collective {

/// May be called by any thread.
class Divider {
 public:
  /// \param divisor at least 1 and at most 2^63
  explicit constexpr Divider(std::uint64_t divisor) : shift_(std::bit_width(divisor - 1)) {
    // Computes 2^(63 + shift) / divisor bit by bit, because 128-bit integers are not portable between compilers.
    std::uint64_t rest = 0;
    for (int bit = 63 + shift_; bit >= 0; --bit) {
      rest = 2 * rest + (bit == 63 + shift_ ? 1 : 0);
      factor_ = 2 * factor_ + (rest >= divisor ? 1 : 0);
      if (rest >= divisor) rest -= divisor;
    }
    if (rest > 0) ++factor_;
  }

  /// Returns value / divisor, rounded down. \param value below 2^63
  [[nodiscard]] KOKKOS_FUNCTION constexpr std::uint64_t operator()(std::uint64_t value) const {
    return high_product(2 * value, factor_) >> shift_;
  }

 private:
  // Returns the upper 64 bits of the 128-bit product.
  [[nodiscard]] KOKKOS_FUNCTION static constexpr std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
    return __umul64hi(a, b);
#else
    std::uint64_t const low = 0xffffffffu;
    std::uint64_t const middle = (a >> 32) * (b & low) + ((a & low) * (b & low) >> 32);
    std::uint64_t const other = (a & low) * (b >> 32) + (middle & low);
    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
#endif
  }

  std::uint64_t factor_ = 0;
  int shift_;
};

}  // namespace tessera::collective
