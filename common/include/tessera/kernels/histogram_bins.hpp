#pragma once
/// \file
/// Which of `bins` equal bins over [lo, hi) a number is in.

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

/// The rule of the bins, which is the specification: an element that is not in [lo, hi) (NaN is not) is outside;
/// another is in bin floor((x - lo) * scale) with scale = bins / (hi - lo), or in the last where that rounds up to
/// `bins`. lo, hi and bins are rounded to T first, and every operation is one of T, rounded once: a subtraction that is
/// followed by a multiplication cannot be fused, so that all machines say the same.
///
/// Against exact arithmetic x goes to a neighbouring bin at most where it is within 4 u (x - lo) of an inner edge, u
/// the unit roundoff of T.
///
/// Example, 4 bins over [0, 2): -0.1 -> outside, 0 -> 0, 0.5 -> 1, 1.99 -> 3, 2 -> outside.
template <class T>
struct EqualBins {
  T lo;
  T hi;
  T scale;
  std::int32_t count;

  /// `bins` equal bins over [from, to). Throws std::invalid_argument unless from < to in T, and there is a bin.
  EqualBins(double from, double to, std::int64_t bins)
      : lo(static_cast<T>(from)),
        hi(static_cast<T>(to)),
        scale(static_cast<T>(bins) / (hi - lo)),
        count(static_cast<std::int32_t>(bins)) {
    detail::check_bins(lo < hi && bins > 0);
  }

  /// The bin of x; `count` if it is outside.
  [[nodiscard]] KOKKOS_FUNCTION std::int32_t operator()(T x) const {
    // Without a branch, or an operation that only some elements need: hosts make vectors of it (GCC of just these
    // steps).
    bool const inside = static_cast<bool>(static_cast<int>(x >= lo) & static_cast<int>(x < hi));
    std::int32_t const last = count - 1;
    T place = (x - lo) * scale;
    // What is outside may not fit into an integer. A GPU converts to the nearest there is, and NaN to 0; a host must not
    // be asked.
    KOKKOS_IF_ON_HOST((T const most = static_cast<T>(last); T const below = place < most ? place : most;
                       place = below > 0 ? below : T(0);))
    auto const bin = static_cast<std::int32_t>(place);
    std::int32_t const capped = bin < last ? bin : last;
    std::int32_t const mask = -static_cast<std::int32_t>(inside);
    return (capped & mask) | (count & ~mask);
  }
};

/// Of integers: lo and hi are whole numbers, and the bin is floor((x - lo) * bins / (hi - lo)) exactly, without a
/// division. With m = floor(bins * 2^32 / (hi - lo)) and d = x - lo < hi - lo <= 2^32, d * m / 2^32 is below the
/// quotient by less than 1, and d * m < bins * 2^32 fits into 64 bits: its floor is the bin or the one before it, and the
/// remainder tells which.
template <>
struct EqualBins<std::int32_t> {
  std::uint32_t lo;    // modulo 2^32, as the distance is
  std::uint32_t last;  // the largest distance inside: hi - lo - 1
  std::uint64_t multiplier;
  std::int32_t count;

  /// `bins` equal bins over [from, to), whole numbers from -2^31 to 2^31. Throws std::invalid_argument unless from < to,
  /// and there is a bin.
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
