// 16-bit floats: conversions are compared with plain arithmetic in double, and single operations in float with the same
// operations in double.

#include <tessera/core/half.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/types.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tessera {
namespace {

/// The definition of the format, by std::ldexp only.
struct Definition {
  int mantissa;
  int least_exponent;  // of a normal number
  int infinite;        // exponent of the first power of two that is infinite

  [[nodiscard]] double value(std::uint16_t bits) const {
    int const exponent = (bits & 0x7fff) >> mantissa;
    int const fraction = bits & ((1 << mantissa) - 1);
    double const sign = bits >> 15 != 0 ? -1 : 1;
    if (exponent == 0x7fff >> mantissa) {
      return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    }
    int const implied = exponent == 0 ? 0 : 1 << mantissa;
    return sign * std::ldexp(implied + fraction, std::max(exponent, 1) - 1 + least_exponent - mantissa);
  }
  /// Returns the nearest number of the format: std::nearbyint rounds ties to even.
  [[nodiscard]] double rounded(double x) const {
    if (!std::isfinite(x) || x == 0) return x;
    int const exponent = std::max(std::ilogb(x), least_exponent) - mantissa;
    double const nearest = std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
    return std::abs(nearest) < std::ldexp(1.0, infinite) ? nearest
                                                         : std::copysign(std::numeric_limits<double>::infinity(), x);
  }
};

template <class T>
Definition const definition{10, -14, 16};
template <>
Definition const definition<BFloat16>{7, -126, 128};

template <class T>
class ShortFloats : public ::testing::Test {};
using Types = ::testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(ShortFloats, Types);

template <class T>
constexpr T of(int bits) {
  return T::from_bits(static_cast<std::uint16_t>(bits));
}
bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

/// Conversion by integer arithmetic only, as in constant expressions.
template <class T>
std::uint16_t by_integers(float value) {
  auto const bits = std::bit_cast<std::uint32_t>(value);
  return std::is_same_v<T, Half> ? detail::half_from_float_bits(bits) : detail::bfloat16_from_float_bits(bits);
}

template <class T>
::testing::AssertionResult rounds(float value) {
  double const wanted = definition<T>.rounded(static_cast<double>(value));
  double const found = static_cast<double>(T(value));
  double const integers = static_cast<double>(of<T>(by_integers<T>(value)));
  double const of_double = static_cast<double>(T(static_cast<double>(value)));
  if (same(found, wanted) && same(integers, wanted) && same(of_double, wanted)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << value << ": " << found << ", by integers " << integers << ", from double "
                                       << of_double << ", not " << wanted;
}

TYPED_TEST(ShortFloats, EveryPatternIsItsNumber) {
  for (int bits = 0; bits < 1 << 16; ++bits) {
    auto const x = of<TypeParam>(bits);
    ASSERT_TRUE(same(static_cast<double>(x), definition<TypeParam>.value(static_cast<std::uint16_t>(bits)))) << bits;
    if (std::is_same_v<TypeParam, Half>) {
      auto const integers = std::bit_cast<float>(detail::float_bits_from_half(static_cast<std::uint16_t>(bits)));
      ASSERT_TRUE(same(static_cast<double>(integers), static_cast<double>(x))) << bits;
    }
    // Converting back gives the same bits, except for a NaN's payload.
    if (!std::isnan(x)) {
      ASSERT_EQ(TypeParam(static_cast<float>(x)).bits(), bits);
      ASSERT_EQ(TypeParam(static_cast<double>(x)).bits(), bits);
    } else {
      ASSERT_TRUE(std::isnan(TypeParam(static_cast<float>(x)))) << bits;
    }
  }
}

// For each number: the number itself, the tie with the next number, and the floats on either side of both. This
// includes denormals and the step to infinity.
TYPED_TEST(ShortFloats, NeighboursAndTiesRoundToNearestEven) {
  float const up = std::numeric_limits<float>::infinity();
  int const infinity = std::numeric_limits<TypeParam>::infinity().bits();
  for (int bits = 0; bits < infinity; ++bits) {
    auto const low = static_cast<double>(of<TypeParam>(bits));
    double const high = bits + 1 < infinity ? static_cast<double>(of<TypeParam>(bits + 1))
                                            : std::ldexp(1.0, definition<TypeParam>.infinite);
    auto const tie = static_cast<float>((low + high) / 2);  // exact, except for the last of BFloat16's denormals
    for (float const x : {static_cast<float>(low), tie}) {
      for (float const value : {x, std::nextafter(x, up), std::nextafter(x, -up)}) {
        ASSERT_TRUE(rounds<TypeParam>(value));
        ASSERT_TRUE(rounds<TypeParam>(-value));
      }
    }
  }
  ASSERT_TRUE(rounds<TypeParam>(std::numeric_limits<float>::max()));
  ASSERT_TRUE(rounds<TypeParam>(std::numeric_limits<float>::denorm_min()));
  ASSERT_TRUE(rounds<TypeParam>(up));
}

TYPED_TEST(ShortFloats, AnyFloatRoundsToNearestEven) {
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    ASSERT_TRUE(rounds<TypeParam>(std::bit_cast<float>(static_cast<std::uint32_t>(random_bits(1, 2, i)))));
  }
}

// Rounding to float first would give the tie, which then rounds to even.
TYPED_TEST(ShortFloats, ADoubleRoundsOnce) {
  int const digits = std::numeric_limits<TypeParam>::digits;
  double const tie = 1 + std::ldexp(1.0, -digits);
  double const above = tie + 0x1p-50;
  EXPECT_EQ(static_cast<double>(TypeParam(above)), 1 + std::ldexp(1.0, 1 - digits));
  EXPECT_EQ(static_cast<double>(TypeParam(static_cast<float>(above))), 1.0);  // rounding twice gives another result
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    // Exponents around the dtype's range; few other bits, so that ties and their neighbours are frequent.
    std::uint64_t const bits = random_bits(3, 4, i);
    double const few =
        std::ldexp(1.0 + std::ldexp(static_cast<double>(bits % 4096), -12), static_cast<int>(bits >> 12) % 300 - 150);
    for (double const value : {few, few * (1 + 0x1p-52), few * (1 - 0x1p-53), -few, std::bit_cast<double>(bits)}) {
      ASSERT_TRUE(same(static_cast<double>(TypeParam(value)), definition<TypeParam>.rounded(value))) << value;
    }
  }
}

TYPED_TEST(ShortFloats, IntegersRoundOnce) {
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    auto const wide = static_cast<std::int64_t>(random_bits(5, 6, i) >> (i % 64));
    auto const narrow = static_cast<std::int32_t>(wide);
    ASSERT_EQ(static_cast<double>(TypeParam(narrow)), definition<TypeParam>.rounded(static_cast<double>(narrow)));
    ASSERT_TRUE(std::abs(static_cast<double>(wide)) > 0x1p53 ||
                static_cast<double>(TypeParam(wide)) == definition<TypeParam>.rounded(static_cast<double>(wide)));
  }
  // Above a tie by less than a double can represent.
  std::int64_t const tie = (std::int64_t{1} << 62) + (std::int64_t{1} << (62 - std::numeric_limits<BFloat16>::digits));
  EXPECT_EQ(static_cast<double>(BFloat16(tie)), 0x1p62);
  EXPECT_EQ(static_cast<double>(BFloat16(tie + 1)), 0x1p62 + 0x1p55);
  EXPECT_EQ(static_cast<double>(BFloat16(static_cast<std::uint64_t>(tie + 1))), 0x1p62 + 0x1p55);
  EXPECT_EQ(static_cast<double>(BFloat16(-tie - 1)), -0x1p62 - 0x1p55);
}

// One operation in float, then rounded, must equal the same operation in double, rounded once. All pairs of exponents
// occur.
TYPED_TEST(ShortFloats, OneOperationInFloatRoundsOnce) {
  auto const limit = static_cast<double>(std::numeric_limits<float>::min());
  for (std::uint64_t i = 0; i < 3'000'000; ++i) {
    std::uint64_t const bits = random_bits(7, 8, i);
    auto const a = of<TypeParam>(static_cast<int>(bits & 0xffff));
    auto const b = of<TypeParam>(static_cast<int>(bits >> 16 & 0xffff));
    // For half of the pairs the exponents are close, so that sums round.
    auto const c = i % 2 == 0 ? b : of<TypeParam>((b.bits() & 0x83ff) | (a.bits() & 0x7c00));
    auto const x = static_cast<double>(a);
    auto const y = static_cast<double>(c);
    auto const is_right = [&](TypeParam found, double exact) {
      return same(static_cast<double>(found), definition<TypeParam>.rounded(exact));
    };
    ASSERT_TRUE(is_right(a + c, x + y)) << x << " + " << y;
    ASSERT_TRUE(is_right(a - c, x - y)) << x << " - " << y;
    if (!(std::abs(x * y) < limit)) {
      ASSERT_TRUE(is_right(a * c, x * y)) << x << " * " << y;
    }
    if (!(std::abs(x / y) < limit)) {
      ASSERT_TRUE(is_right(a / c, x / y)) << x << " / " << y;
    }
    if (!(x < 0)) {
      ASSERT_TRUE(is_right(std::sqrt(static_cast<float>(a)), std::sqrt(x))) << x;
    }
  }
}

TYPED_TEST(ShortFloats, LimitsAreThoseOfTheFormat) {
  using Limits = std::numeric_limits<TypeParam>;
  Definition const& of_it = definition<TypeParam>;
  EXPECT_EQ(static_cast<double>(Limits::min()), std::ldexp(1.0, of_it.least_exponent));
  EXPECT_EQ(static_cast<double>(Limits::min()), std::ldexp(1.0, Limits::min_exponent - 1));
  EXPECT_EQ(static_cast<double>(Limits::denorm_min()), std::ldexp(1.0, of_it.least_exponent - of_it.mantissa));
  EXPECT_EQ(static_cast<double>(Limits::max()), std::ldexp(2 - std::ldexp(1.0, -of_it.mantissa), of_it.infinite - 1));
  EXPECT_EQ(Limits::max_exponent, of_it.infinite);
  EXPECT_EQ(static_cast<double>(Limits::lowest()), -static_cast<double>(Limits::max()));
  EXPECT_EQ(static_cast<double>(Limits::epsilon()), std::ldexp(1.0, -of_it.mantissa));
  EXPECT_EQ(static_cast<double>(Limits::epsilon()) / 2, unit_roundoff(dtype_of<TypeParam>));
  EXPECT_EQ(static_cast<double>(Limits::round_error()), 0.5);
  EXPECT_TRUE(std::isinf(Limits::infinity()) && std::isnan(Limits::quiet_NaN()));
  EXPECT_TRUE(std::isnan(poison_value<TypeParam>));
  EXPECT_EQ(size_of(dtype_of<TypeParam>), sizeof(TypeParam));
  EXPECT_EQ(dtype_from_name(name_of(dtype_of<TypeParam>)), dtype_of<TypeParam>);
  EXPECT_EQ(arithmetic_of(dtype_of<TypeParam>), DType::float32);
}

// The same in constant expressions.
static_assert(Half(1.0F) + Half(2.0F) == 3.0F && Half(0.1F).bits() == 0x2e66 && Half(65520.0F).bits() == 0x7c00 &&
              Half(65519.0F).bits() == 0x7bff && Half(0x1p-25F).bits() == 0 && Half(0x1.8p-25F).bits() == 1);
static_assert(BFloat16(0.1).bits() == 0x3dcd && -BFloat16(1.0F) == -1.0F && BFloat16(3) == 3.0F &&
              Half(2049) == 2048.0F);
static_assert(Floating<Half> && Floating<double> && !Floating<int> && !std::floating_point<Half>);
static_assert(std::same_as<Arithmetic<BFloat16>, float> && std::same_as<Arithmetic<double>, double>);

// Generated elements are numbers of the dtype that use all its bits and are widely spread.
TYPED_TEST(ShortFloats, GeneratedElementsAreSpread) {
  std::vector<bool> seen(1 << 16);
  double least = 1;
  double most = -1;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    auto const x = random_value<TypeParam>(1, 0, i);
    seen[x.bits()] = true;
    least = std::min(least, static_cast<double>(x));
    most = std::max(most, static_cast<double>(x));
    ASSERT_TRUE(std::isfinite(adversarial_value<TypeParam>(1, 0, i)));
  }
  double const step = unit_roundoff(dtype_of<TypeParam>) * 2;
  EXPECT_EQ(least, -1);
  EXPECT_EQ(most, 1 - step);
  EXPECT_EQ(std::ranges::count(seen, true), static_cast<std::ptrdiff_t>(2 / step));
}

}  // namespace
}  // namespace tessera
