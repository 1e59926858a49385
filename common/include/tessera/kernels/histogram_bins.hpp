#pragma once
/// \file
/// The rule that assigns a number to one of `bins` equal bins over [lo, hi).

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <stdexcept>

namespace tessera::kernels {

namespace detail {

inline void check_bins(bool are_right) {
  if (!are_right)
    throw std::invalid_argument("the bins are empty (they lie from lo up to hi, and there is one at least)");
}

}  // namespace detail

/// The rule of the bins, which is the specification. An element that is not in [lo, hi) is outside, and so is NaN. Any
/// other element is in bin floor((x - lo) * scale) with scale = bins / (hi - lo), or in the last bin if that rounds up
/// to `bins`. lo, hi and bins are first rounded to T, and every operation is one of T, rounded once. A subtraction
/// followed by a multiplication cannot be fused, so that all machines give the same bin.
///
/// Compared with exact arithmetic, x can only be in a neighbouring bin if it is within 4 u (x - lo) of an inner edge; u
/// is the unit roundoff of T.
///
/// Example, 4 bins over [0, 2): -0.1 -> outside, 0 -> 0, 0.5 -> 1, 1.99 -> 3, 2 -> outside.
template <class T>
struct EqualBins {
  T lo;
  T hi;
  T scale;
  std::int32_t count;

  /// `bins` equal bins over [from, to). Throws std::invalid_argument unless from < to in T and bins > 0.
  EqualBins(double from, double to, std::int64_t bins)
      : lo(static_cast<T>(from)),
        hi(static_cast<T>(to)),
        scale(static_cast<T>(bins) / (hi - lo)),
        count(static_cast<std::int32_t>(bins)) {
    detail::check_bins(lo < hi && bins > 0);
  }

  /// Returns the bin of x, or `count` if x is outside.
  [[nodiscard]] KOKKOS_FUNCTION std::int32_t operator()(T x) const {
    // No branch, and no operation that only some elements need, so that host compilers vectorize it (GCC needs exactly
    // these steps).
    bool const inside = static_cast<bool>(static_cast<int>(x >= lo) & static_cast<int>(x < hi));
    std::int32_t const last = count - 1;
    T place = (x - lo) * scale;
    // An element outside may not fit into an integer. A GPU converts it to the nearest integer and NaN to 0; on a host
    // the conversion would be undefined.
    KOKKOS_IF_ON_HOST((T const most = static_cast<T>(last); T const below = place < most ? place : most;
                       place = below > 0 ? below : T(0);))
    auto const bin = static_cast<std::int32_t>(place);
    std::int32_t const capped = bin < last ? bin : last;
    std::int32_t const mask = -static_cast<std::int32_t>(inside);
    return (capped & mask) | (count & ~mask);
  }
};

/// For integers: lo and hi are whole numbers, and the bin is floor((x - lo) * bins / (hi - lo)) exactly, without a
/// division. Let m = floor(bins * 2^32 / (hi - lo)) and d = x - lo < hi - lo <= 2^32. Then d * m / 2^32 is below the
/// quotient by less than 1, and d * m < bins * 2^32 fits into 64 bits. Its floor is the bin or the bin before, and the
/// remainder decides which.
template <>
struct EqualBins<std::int32_t> {
  std::uint32_t lo;    // modulo 2^32, as the distance is
  std::uint32_t last;  // the largest distance inside: hi - lo - 1
  std::uint64_t multiplier;
  std::int32_t count;

  /// `bins` equal bins over [from, to), whole numbers from -2^31 to 2^31. Throws std::invalid_argument unless from < to
  /// and bins > 0.
  EqualBins(double from, double to, std::int64_t bins)
      : lo(static_cast<std::uint32_t>(static_cast<std::int64_t>(from))),
        last(static_cast<std::uint32_t>(width(from, to) - 1)),
        multiplier((static_cast<std::uint64_t>(bins) << 32) / width(from, to)),
        count(static_cast<std::int32_t>(bins)) {
    detail::check_bins(bins > 0);
  }

  [[nodiscard]] KOKKOS_FUNCTION std::int32_t operator()(std::int32_t x) const {
    std::uint32_t const distance = static_cast<std::uint32_t>(x) - lo;
    auto const below = static_cast<std::uint32_t>((distance * multiplier) >> 32);
    std::uint64_t const rest = static_cast<std::uint64_t>(distance) * static_cast<std::uint32_t>(count) -
                               static_cast<std::uint64_t>(below) * (static_cast<std::uint64_t>(last) + 1);
    auto const bin = static_cast<std::int32_t>(below + static_cast<std::uint32_t>(rest > last));
    std::int32_t const inside = -static_cast<std::int32_t>(distance <= last);  // no branch, as above
    return (bin & inside) | (count & ~inside);
  }

 private:
  [[nodiscard]] static std::uint64_t width(double from, double to) {
    detail::check_bins(from < to);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(to) - static_cast<std::int64_t>(from));
  }
};

}  // namespace tessera::kernels
