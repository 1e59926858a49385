#pragma once
/// \file
/// Points of the unit square, or normal numbers, and the value of each, which the variants sum.

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "problem.hpp"

#include <tessera/collective/random.hpp>
#include <tessera/core/unroll.hpp>

namespace tessera::monte_carlo {

/// The coordinates of a point, times 2^32.
struct Point {
  std::uint32_t a;
  std::uint32_t b;
};

/// Point i has elements 2 i and 2 i + 1 of the bits of stream 0. Two points share a counter.
template <class Generator>
struct RandomPoints {
  collective::RandomWords<Generator> words;

  /// Returns point j of a replicate whose first point has index `first`.
  [[nodiscard]] KOKKOS_FUNCTION Point at(std::size_t, std::uint64_t first, std::uint64_t j) const {
    auto const four = words.template bits<std::uint32_t>((first + j) / 2, 0);
    return (first + j) % 2 == 0 ? Point{four[0], four[1]} : Point{four[2], four[3]};
  }

  /// Calls `body(point)` for points `begin` to `end` - 1 of a replicate.
  template <class Body>
  KOKKOS_FUNCTION void for_each(std::size_t, std::uint64_t first, std::uint64_t begin, std::uint64_t end,
                                Body const& body) const {
    if (begin >= end) return;
    std::uint64_t pair = (first + begin) / 2;
    if ((first + begin) % 2 != 0) {
      auto const four = words.template bits<std::uint32_t>(pair++, 0);
      body(Point{four[2], four[3]});
    }
    for (std::uint64_t const last = (first + end) / 2; pair < last; ++pair) {
      auto const four = words.template bits<std::uint32_t>(pair, 0);
      body(Point{four[0], four[1]});
      body(Point{four[2], four[3]});
    }
    if ((first + end) % 2 != 0) {
      auto const four = words.template bits<std::uint32_t>(pair, 0);
      body(Point{four[0], four[1]});
    }
  }
};

/// The two-dimensional Sobol sequence in the order of Gray codes, with direction numbers of Joe and Kuo, Constructing
/// Sobol sequences with better two-dimensional projections (2008): all m are 1 in the first dimension; in the second s
/// = 1, a = 0, m = 1, so each direction number follows from the one before. A digital shift, one per replicate, makes
/// every point uniform: bits are exchanged where the shift has ones.
///
/// Example without a shift: (0, 0), (1/2, 1/2), (3/4, 1/4), (1/4, 3/4), (3/8, 3/8), (7/8, 7/8).
struct SobolPoints {
  Kokkos::Array<Point, replicates> shifts;

  [[nodiscard]] KOKKOS_FUNCTION Point at(std::size_t replicate, std::uint64_t, std::uint64_t j) const {
    Point x = shifts[replicate];
    std::uint32_t first = std::uint32_t{1} << 31;
    std::uint32_t second = first;
    for (std::uint64_t gray = j ^ (j >> 1); gray > 0; gray >>= 1, first >>= 1, second ^= second >> 1) {
      if (gray % 2 == 0) continue;
      x.a ^= first;
      x.b ^= second;
    }
    return x;
  }

  /// One direction number per point: the next Gray code differs in one bit.
  template <class Body>
  KOKKOS_FUNCTION void for_each(std::size_t replicate, std::uint64_t first, std::uint64_t begin, std::uint64_t end,
                                Body const& body) const {
    if (begin >= end) return;
    Point x = at(replicate, first, begin);
    body(x);
    for (std::uint64_t j = begin + 1; j < end; ++j) {
      std::uint32_t second = std::uint32_t{1} << 31;
      std::uint32_t along = second;
      for (std::uint64_t rest = j; rest % 2 == 0; rest >>= 1, along >>= 1) second ^= second >> 1;
      x.a ^= along;
      x.b ^= second;
      body(x);
    }
  }
};

/// Returns two independent normal numbers of a random point: r cos(2 pi v) and r sin(2 pi v), r = sqrt(-2 log u), u in
/// (0, 1], v in [0, 1) (Box, Muller). The coordinates have 24 bits in float, 32 in double; u is the end of its cell.
template <class T>
[[nodiscard]] KOKKOS_FUNCTION Kokkos::Array<T, 2> normals_of(Point point) {
  if constexpr (sizeof(T) == 4) {
    return collective::two_normals<T>(point.a, point.b);
  } else {
    return collective::two_normals_of_32<T>(static_cast<T>(std::uint64_t{point.a} + 1), point.b);
  }
}

/// Random points 2 k and 2 k + 1 have the two normal numbers of elements 2 k and 2 k + 1 of the bits of stream 0. Four
/// points share a counter. Interface as RandomPoints.
template <class T, class Generator>
struct RandomNormals {
  collective::RandomWords<Generator> words;

  [[nodiscard]] KOKKOS_FUNCTION T at(std::size_t, std::uint64_t first, std::uint64_t j) const {
    auto const bits = words.template bits<std::uint32_t>((first + j) / 4, 0);
    auto const two = normals_of<T>((first + j) % 4 < 2 ? Point{bits[0], bits[1]} : Point{bits[2], bits[3]});
    return (first + j) % 2 == 0 ? two[0] : two[1];
  }
  template <class Body>
  KOKKOS_FUNCTION void for_each(std::size_t, std::uint64_t first, std::uint64_t begin, std::uint64_t end,
                                Body const& body) const {
    if (begin >= end) return;
    std::uint64_t counter = (first + begin) / 4;
    // Places within the run, for which 32 bits are enough. All counters but the first and the last are used whole.
    auto const skipped = static_cast<std::uint32_t>((first + begin) % 4);
    auto const last = static_cast<std::uint32_t>(skipped + (end - begin));
    for (std::uint32_t i = 0; i < last; i += 4) {
      auto const bits = words.template bits<std::uint32_t>(counter++, 0);
      auto const left = normals_of<T>({bits[0], bits[1]});
      auto const right = normals_of<T>({bits[2], bits[3]});
      T const normals[] = {left[0], left[1], right[0], right[1]};
      if (i >= skipped && i + 4 <= last) {
        for (T const z : normals) body(z);
      } else {
        TESSERA_UNROLL
        for (std::uint32_t e = 0; e < 4; ++e) {
          if (i + e >= skipped && i + e < last) body(normals[e]);
        }
      }
    }
  }
};

/// The first normal number of each Sobol point: every value has a point of its own. u = (a | 1) / 2^32 is the middle of
/// a cell of 2^-31. An odd number is rounded to float up as often as down, so u has no bias; a + 1/2 would lose its
/// half.
template <class T>
struct SobolNormals {
  SobolPoints points;

  [[nodiscard]] KOKKOS_FUNCTION static T normal_of(Point point) {
    return collective::two_normals_of_32<T>(static_cast<T>(point.a | 1), point.b)[0];
  }
  [[nodiscard]] KOKKOS_FUNCTION T at(std::size_t replicate, std::uint64_t first, std::uint64_t j) const {
    return normal_of(points.at(replicate, first, j));
  }
  template <class Body>
  KOKKOS_FUNCTION void for_each(std::size_t replicate, std::uint64_t first, std::uint64_t begin, std::uint64_t end,
                                Body const& body) const {
    points.for_each(replicate, first, begin, end, [&](Point point) { body(normal_of(point)); });
  }
};

// Values have `operator()`, the value of a point or of a normal number. Plain variates need less work per point:
// `total` makes the sum of values from the sum of what `plain` returns for each point.

/// 4 in the quarter of a disc, otherwise 0: the mean is pi. In integers, so that all spaces agree. A coordinate is (2
/// floor(a / 4) + 1) / 2^31, the middle of its cell.
struct Pi {
  using Sum = std::uint32_t;  ///< of what `plain` returns for fewer than 2^31 points
  int digits;
  Variates variates;

  KOKKOS_FUNCTION static std::uint64_t square(std::uint32_t a) {
    std::uint64_t const odd = a >> 1 | 1;
    return odd * odd;
  }
  /// 1 if it is. `squares`: a sum of two, below 2^63.
  KOKKOS_FUNCTION static std::uint32_t outside(std::uint64_t squares) {
    return static_cast<std::uint32_t>(squares >> 62);
  }

  [[nodiscard]] KOKKOS_FUNCTION static std::uint32_t plain(Point point) {
    return outside(square(point.a) + square(point.b));
  }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t total(std::uint32_t all_outside, std::uint64_t points) const {
    return static_cast<std::int64_t>(points - all_outside) << (digits + 2);
  }

  [[nodiscard]] KOKKOS_FUNCTION std::int64_t operator()(Point point) const {
    if (variates == Variates::plain) return total(plain(point), 1);
    std::uint64_t const r = square(point.a) + square(point.b);  // times 2^62
    if (variates == Variates::antithetic) {
      // The mirrored point: 1 - x and 1 - y are the middles of the cells of ~a and ~b.
      return total(outside(r) + outside(square(~point.a) + square(~point.b)), 2) / 2;
    }
    // x^2 + y^2 has the mean 2/3, so 3 (x^2 + y^2) - 2 has the mean 0.
    int const less = 62 - digits;
    auto const rounded = static_cast<std::int64_t>((r + (std::uint64_t{1} << (less - 1))) >> less);
    return total(outside(r), 1) + 3 * rounded - (std::int64_t{2} << digits);
  }
};

/// 1 if the upper bits of a and b differ, otherwise 0: the mean is 1/2. The least work that needs both coordinates, so
/// it shows the rate of the generator.
struct Coin {
  using Sum = std::uint32_t;
  int digits;
  static constexpr Variates variates = Variates::plain;

  [[nodiscard]] KOKKOS_FUNCTION static std::uint32_t plain(Point point) { return (point.a ^ point.b) >> 31; }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t total(std::uint32_t ones, std::uint64_t) const {
    return std::int64_t{ones} << digits;
  }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t operator()(Point point) const { return total(plain(point), 1); }
};

/// Returns the nearest integer to x, |x| < 2^31. CUDA has an instruction for it, which Kokkos does not name.
template <class T>
[[nodiscard]] KOKKOS_FUNCTION std::int32_t nearest(T x) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 4) return __float2int_rn(x);
  return __double2int_rn(x);
#else
  return static_cast<std::int32_t>(Kokkos::round(x));
#endif
}

/// The discounted payoff of the option, in units of the spot price: max(x - strike, 0). Its price at the end is
/// x = exp2(deviation z + drift) with the normal number z.
template <class T>
struct Call : Market<T> {
  using Sum = std::int64_t;
  using Market<T>::strike;
  using Market<T>::deviation;
  using Market<T>::drift;
  using Market<T>::factor;
  T scale;  ///< 2^digits
  Variates variates;

  [[nodiscard]] KOKKOS_FUNCTION static std::int64_t total(std::int64_t sum, std::uint64_t) { return sum; }
  [[nodiscard]] KOKKOS_FUNCTION std::uint32_t plain(T z) const {
    // Scaled before it is rounded: a power of two moves no bit.
    return static_cast<std::uint32_t>(nearest(Kokkos::fmax(Kokkos::fma(price_of(z), scale, -strike * scale), T(0))));
  }
  // Explicit: a compiler that fuses some loops, and others not, would give them different bits.
  [[nodiscard]] KOKKOS_FUNCTION T price_of(T z) const { return Kokkos::exp2(Kokkos::fma(deviation, z, drift)); }
  [[nodiscard]] KOKKOS_FUNCTION T payoff_of(T price) const { return Kokkos::fmax(price - strike, T(0)); }

  [[nodiscard]] KOKKOS_FUNCTION std::int64_t operator()(T z) const {
    if (variates == Variates::plain) return plain(z);
    T const price = price_of(z);
    T value = payoff_of(price);
    if (variates == Variates::antithetic) {
      value = (value + payoff_of(price_of(-z))) / 2;
    } else {
      value = Kokkos::fma(-factor, price - 1, value);
    }
    return nearest(value * scale);
  }
};

/// Returns the sum of the values of points `begin` to `end` - 1, fewer than 2^31, of a replicate. Plain variates have a
/// loop of their own, without a decision per point.
template <class Points, class Value>
[[nodiscard]] KOKKOS_FUNCTION std::int64_t sum_of_run(Points const& points, Value const& value, std::size_t replicate,
                                                      std::uint64_t first, std::uint64_t begin, std::uint64_t end) {
  if (value.variates == Variates::plain) {
    typename Value::Sum sum = 0;
    points.for_each(replicate, first, begin, end, [&](auto const& point) { sum += value.plain(point); });
    return value.total(sum, begin < end ? end - begin : 0);
  }
  std::int64_t sum = 0;
  points.for_each(replicate, first, begin, end, [&](auto const& point) { sum += value(point); });
  return sum;
}

/// Returns the shifts of a Sobol sequence's replicates: elements 2 r and 2 r + 1 of the bits of stream 1.
template <class Generator>
[[nodiscard]] SobolPoints shifted_points(std::uint64_t seed) {
  SobolPoints result{};
  collective::RandomWords<Generator> const words(seed, 1);
  RandomPoints<Generator> const shifts{words};
  for (std::size_t r = 0; r < replicates; ++r) result.shifts[r] = shifts.at(0, 0, r);
  return result;
}

/// Calls `body(points, value)` with the objects that the parameters name.
template <class T, class Body>
void with_points(Parameters const& parameters, Body const& body) {
  int const digits = digits_of(parameters);
  auto const with_generator = [&]<class Generator>(collective::RandomWords<Generator> const& words) {
    bool const sobol = parameters.points == Points::sobol;
    if (parameters.quantity == Quantity::call) {
      Call<T> const call{market_of<T>(parameters), static_cast<T>(std::ldexp(1.0, digits)), parameters.variates};
      if (sobol) return body(SobolNormals<T>{shifted_points<Generator>(parameters.seed)}, call);
      return body(RandomNormals<T, Generator>{words}, call);
    }
    auto const with_value = [&](auto const& points) {
      if (parameters.quantity == Quantity::pi) return body(points, Pi{digits, parameters.variates});
      return body(points, Coin{digits});
    };
    if (sobol) return with_value(shifted_points<Generator>(parameters.seed));
    return with_value(RandomPoints<Generator>{words});
  };
  if (parameters.generator == Generator::philox) {
    with_generator(collective::RandomWords<collective::Philox4x32>(parameters.seed, 0));
  } else {
    with_generator(collective::RandomWords<collective::Threefry4x64>(parameters.seed, 0));
  }
}

}  // namespace tessera::monte_carlo
