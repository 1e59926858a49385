#pragma once
/// \file
/// Random numbers as functions of (seed, stream, i). Any thread, team or rank can compute element i, and gets the same
/// result. (core/random.hpp generates the inputs of mini-apps, with a hash that is cheaper and less thoroughly tested.)
///
/// Element i has its own sequence of words. Four elements share the counters:
///
///     Philox4x32:    word w of element i = word i mod 4 of counter {low(i/4), high(i/4), stream, w},
///                    key {low(seed), high(seed)}; 32-bit halves
///     Threefry4x64:  word w of element i = word i mod 4 of counter {i/4, stream, w, 0}, key {seed, 0, 0, 0}
///
/// `bits32` number w is Philox' word w, and the lower half of Threefry's word w. `bits64` number w is Philox' word 2 w
/// below word 2 w + 1, and Threefry's word w. A number of int32 and float takes bits32, a double bits64:
///
///     Bits             int32: bits32 number 0
///     Uniform          [0, 1): float (bits32 >> 8) / 2^24, double (bits64 >> 11) / 2^53; exact
///     PositiveUniform  (0, 1]: (bits32 >> 8) + 1, (bits64 >> 11) + 1 in place of these; exact
///     Normal           elements 2 k and 2 k + 1 are r cos(a) and r sin(a), r = sqrt(-2 log u), a = 2 pi v, where u is
///                      element 2 k of PositiveUniform and v element 2 k + 1 of Uniform. At most 5.77 in float, 8.57 in
///                      double: u is at least 2^-24 or 2^-53. Error: at most normal_roundings u r, u the unit roundoff
///     Integers         int32 in [lo, hi), unbiased: the upper half of bits32 times hi - lo, for the first word whose
///                      lower half is not below 2^32 mod (hi - lo)
///
/// Sources: Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC'11); Box and Muller, A note on
/// the generation of random normal deviates (1958); Lemire, Fast random integer generation in an interval (2019).
///
/// Each distribution has `at(words, i)`, element i, and `four(words, b)`, elements 4 b to 4 b + 3, which costs one
/// counter instead of four.
///
/// Example, in a kernel:
///
///     collective::RandomWords<collective::Philox4x32> const words(42, 0);
///     float const x = collective::Uniform<float>{}.at(words, i);
///
/// May be called by any thread. No scratch, no barriers.

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

#include <tessera/collective/philox.hpp>
#include <tessera/collective/threefry.hpp>

namespace tessera::collective {

/// The words of each element of a stream.
template <class Generator>
class RandomWords {
 public:
  using Block = typename Generator::Block;

  KOKKOS_FUNCTION constexpr RandomWords(std::uint64_t seed, std::uint32_t stream) : seed_(seed), stream_(stream) {}

  /// Returns word `word` of elements 4 b to 4 b + 3.
  [[nodiscard]] KOKKOS_FUNCTION constexpr Block block(std::uint64_t b, std::uint32_t word) const {
    if constexpr (std::is_same_v<Generator, Philox4x32>) {
      return Generator::block({low(b), high(b), stream_, word}, {low(seed_), high(seed_)});
    } else {
      return Generator::block({b, stream_, word, 0}, {seed_, 0, 0, 0});
    }
  }

  /// Returns number `word` of elements 4 b to 4 b + 3, in 32 or in 64 bits.
  template <class Bits>
  [[nodiscard]] KOKKOS_FUNCTION constexpr Kokkos::Array<Bits, 4> bits(std::uint64_t b, std::uint32_t word) const {
    Kokkos::Array<Bits, 4> result{};
    if constexpr (sizeof(Bits) > sizeof(typename Generator::Word)) {
      Block const lower = block(b, 2 * word);
      Block const upper = block(b, 2 * word + 1);
      for (int e = 0; e < 4; ++e) result[e] = lower[e] | static_cast<Bits>(upper[e]) << 32;
    } else {
      Block const words = block(b, word);
      for (int e = 0; e < 4; ++e) result[e] = static_cast<Bits>(words[e]);
    }
    return result;
  }

 private:
  [[nodiscard]] KOKKOS_FUNCTION static constexpr std::uint32_t low(std::uint64_t word) {
    return static_cast<std::uint32_t>(word);
  }
  [[nodiscard]] KOKKOS_FUNCTION static constexpr std::uint32_t high(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> 32);
  }

  std::uint64_t seed_;
  std::uint32_t stream_;
};

/// Returns element e of four, without an address in memory that an index would need on a GPU.
template <class T>
[[nodiscard]] KOKKOS_FUNCTION constexpr T one_of_four(Kokkos::Array<T, 4> const& four, std::uint64_t e) {
  T const of_even = (e & 2) == 0 ? four[0] : four[2];
  T const of_odd = (e & 2) == 0 ? four[1] : four[3];
  return (e & 1) == 0 ? of_even : of_odd;
}

namespace detail {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// Base of distributions: `at` from `four`. The compiler removes what the other elements need.
template <class Distribution>
struct FromFour {
  template <class Words>
  [[nodiscard]] KOKKOS_FUNCTION auto at(Words const& words, std::uint64_t i) const {
    return one_of_four(static_cast<Distribution const&>(*this).four(words, i / 4), i % 4);
  }
};

/// bits * 2^-24 or 2^-53, of the upper 24 or 53 bits: exact.
template <class T>
[[nodiscard]] KOKKOS_FUNCTION constexpr T fraction(BitsOf<T> bits, int more) {
  constexpr int digits = sizeof(T) == 8 ? 53 : 24;
  constexpr T unit = T(1) / static_cast<T>(std::uint64_t{1} << digits);
  return static_cast<T>((bits >> (8 * sizeof(T) - digits)) + static_cast<BitsOf<T>>(more)) * unit;
}

template <class T, int more>
struct Fractions : FromFour<Fractions<T, more>> {
  template <class Words>
  [[nodiscard]] KOKKOS_FUNCTION Kokkos::Array<T, 4> four(Words const& words, std::uint64_t b) const {
    auto const bits = words.template bits<BitsOf<T>>(b, 0);
    Kokkos::Array<T, 4> result{};
    for (int e = 0; e < 4; ++e) result[e] = fraction<T>(bits[e], more);
    return result;
  }
};

}  // namespace detail

/// All 2^32 integers.
struct Bits : detail::FromFour<Bits> {
  template <class Words>
  [[nodiscard]] KOKKOS_FUNCTION Kokkos::Array<std::int32_t, 4> four(Words const& words, std::uint64_t b) const {
    auto const bits = words.template bits<std::uint32_t>(b, 0);
    Kokkos::Array<std::int32_t, 4> result{};
    for (int e = 0; e < 4; ++e) result[e] = static_cast<std::int32_t>(bits[e]);
    return result;
  }
};

/// [0, 1). T: float or double.
template <class T>
using Uniform = detail::Fractions<T, 0>;

/// (0, 1].
template <class T>
using PositiveUniform = detail::Fractions<T, 1>;

namespace detail {

template <class T>
struct SineCosine {
  T sine;
  T cosine;
};

/// Returns sine and cosine of t quarter turns, |t| <= 1/2.
template <class T>
[[nodiscard]] KOKKOS_FUNCTION SineCosine<T> of_quarter_turns(T t) {
  if constexpr (std::is_same_v<T, float>) {
    // Minimax polynomials in t^2 with relative errors of 3.3e-9 and 6.4e-11, cheaper than functions of any argument.
    // Over all t of Normal: at most 1.7 u and 1.3 u (random_test.cpp).
    float const z = t * t;
    return {t * (1.5707963f + z * (-0.64596346f + z * (0.079680034f + z * -0.0046016596f))),
            1 + z * (-1.2337005f + z * (0.25366923f + z * (-0.020860165f + z * 0.00090376654f)))};
  } else {
    T const angle = T(1.57079632679489661923) * t;
    return {Kokkos::sin(angle), Kokkos::cos(angle)};
  }
}

/// Returns -2 log(k / 2^digits), k from 1 to 2^digits.
template <int digits, class T>
[[nodiscard]] KOKKOS_FUNCTION T minus_two_log(T k) {
  if constexpr (std::is_same_v<T, float>) {
    // k = 2^e m with m in [4/3, 8/3), and a polynomial for -2 log(m / 2) in 2 - m: its relative error is 5.1e-8. Exact
    // for k = 2^digits; a relative error of at most 2^-23 for all k. Without the library's tests for zero, denormal and
    // infinite arguments.
    auto const word = Kokkos::bit_cast<std::int32_t>(k);
    std::int32_t const exponent = (word - 0x3faaaaab) & ~0x7fffff;  // e 2^23; subtracted are the bits of 4/3
    float const x = 2 - Kokkos::bit_cast<float>(word - exponent);
    float p = 0.000550286262f;
    p = p * x + 0.00123168342f;
    p = p * x + 0.00218595727f;
    p = p * x + 0.00510705635f;
    p = p * x + 0.0125067895f;
    p = p * x + 0.0312648825f;
    p = p * x + 0.0833330601f;
    p = p * x + 0.249999404f;
    return (static_cast<float>(exponent) * 0x1p-23f - (digits - 1)) * -1.38629436f + (x * x * p + x);
  } else {
    constexpr T unit = T(1) / static_cast<T>(std::uint64_t{1} << digits);
    return T(-2) * Kokkos::log(k * unit);
  }
}

/// Returns the root of a number that is neither denormal nor infinite, with an error of at most 2 u.
template <class T>
[[nodiscard]] KOKKOS_FUNCTION T root(T x) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, float>) {
    float result;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
  }
#endif
  return Kokkos::sqrt(x);
}

/// Returns r cos(a) and r sin(a), a = pi / 2 (quadrant + rest), |rest| <= 1/2. The quadrant is in the upper two bits.
template <class T>
[[nodiscard]] KOKKOS_FUNCTION Kokkos::Array<T, 2> turned(T r, BitsOf<T> quadrant, T rest) {
  using Bits = BitsOf<T>;
  constexpr Bits sign = Bits{1} << (8 * sizeof(T) - 1);
  auto const [sine, cosine] = of_quarter_turns(rest);
  bool const is_odd = (quadrant << 1 & sign) != 0;
  T const along = is_odd ? sine : cosine;
  T const across = is_odd ? cosine : sine;
  return {r * Kokkos::bit_cast<T>(Kokkos::bit_cast<Bits>(along) ^ ((quadrant ^ quadrant << 1) & sign)),
          r * Kokkos::bit_cast<T>(Kokkos::bit_cast<Bits>(across) ^ (quadrant & sign))};
}

}  // namespace detail

/// The roundings of a normal number, each relative to r: log 2 (one unit in the last place, halved by the root, and its
/// square root), sine or cosine 4 (two units in the last place), their argument 2, the product 1. Float has fewer: log
/// and root at most 3, sine or cosine 2, the product 1.
inline constexpr int normal_roundings = 9;

/// Returns two independent normal numbers: elements 2 k and 2 k + 1 of Normal from the bits of u and v.
template <class T>
[[nodiscard]] KOKKOS_FUNCTION Kokkos::Array<T, 2> two_normals(detail::BitsOf<T> u, detail::BitsOf<T> v) {
  using Bits = detail::BitsOf<T>;
  constexpr int size = 8 * sizeof(T);
  constexpr int digits = size == 64 ? 53 : 24;
  constexpr T unit = T(4) / static_cast<T>(std::uint64_t{1} << digits);
  T const r = detail::root(detail::minus_two_log<digits>(static_cast<T>((u >> (size - digits)) + 1)));
  // The upper two bits of v are the quarter; the lower ones, as a signed number, are the rest.
  T const rest = static_cast<T>(static_cast<std::make_signed_t<Bits>>(v << 2) >> (size - digits + 2)) * unit;
  return detail::turned(r, static_cast<Bits>(v + (Bits{1} << (size - 3))), rest);
}

/// The same from u = k / 2^32, k from 1 to 2^32, and all 32 bits of v, whose rest is rounded to T.
template <class T>
[[nodiscard]] KOKKOS_FUNCTION Kokkos::Array<T, 2> two_normals_of_32(T k, std::uint32_t v) {
  T const rest = static_cast<T>(static_cast<std::int32_t>(v << 2)) * T(0x1p-32);
  auto const quadrant = detail::BitsOf<T>{v + (std::uint32_t{1} << 29)} << (8 * sizeof(T) - 32);
  return detail::turned(detail::root(detail::minus_two_log<32>(k)), quadrant, rest);
}

/// Mean 0, variance 1.
template <class T>
struct Normal : detail::FromFour<Normal<T>> {
  template <class Words>
  [[nodiscard]] KOKKOS_FUNCTION Kokkos::Array<T, 4> four(Words const& words, std::uint64_t b) const {
    auto const bits = words.template bits<detail::BitsOf<T>>(b, 0);
    auto const first = two_normals<T>(bits[0], bits[1]);
    auto const second = two_normals<T>(bits[2], bits[3]);
    return {first[0], first[1], second[0], second[1]};
  }
};

/// Integers of [lo, hi), unbiased. Words are drawn until one is not rejected: with hi - lo = 3 one of 2^32 is.
class Integers : public detail::FromFour<Integers> {
 public:
  /// \param hi above lo and at most lo + 2^32
  KOKKOS_FUNCTION constexpr Integers(std::int64_t lo, std::int64_t hi)
      : range_(static_cast<std::uint64_t>(hi - lo)), rejected_((std::uint64_t{1} << 32) % range_), lo_(lo) {}

  template <class Words>
  [[nodiscard]] KOKKOS_FUNCTION Kokkos::Array<std::int32_t, 4> four(Words const& words, std::uint64_t b) const {
    auto bits = words.template bits<std::uint32_t>(b, 0);
    for (std::uint32_t next = 1;
         is_rejected(bits[0]) || is_rejected(bits[1]) || is_rejected(bits[2]) || is_rejected(bits[3]); ++next) {
      auto const more = words.template bits<std::uint32_t>(b, next);
      for (int e = 0; e < 4; ++e) bits[e] = is_rejected(bits[e]) ? more[e] : bits[e];
    }
    Kokkos::Array<std::int32_t, 4> result{};
    for (int e = 0; e < 4; ++e)
      result[e] = static_cast<std::int32_t>(lo_ + static_cast<std::int64_t>(product(bits[e]) >> 32));
    return result;
  }

 private:
  [[nodiscard]] KOKKOS_FUNCTION std::uint64_t product(std::uint32_t word) const { return word * range_; }
  [[nodiscard]] KOKKOS_FUNCTION bool is_rejected(std::uint32_t word) const {
    return static_cast<std::uint32_t>(product(word)) < rejected_;
  }

  std::uint64_t range_;
  std::uint64_t rejected_;
  std::int64_t lo_;
};

}  // namespace tessera::collective
