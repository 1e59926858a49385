// Philox and Threefry against published answers and the authors' implementation; the mapping of words to elements.

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#ifdef TESSERA_HAVE_RANDOM123
#include <Random123/philox.h>
#include <Random123/threefry.h>
#endif

#include <tessera/collective/random.hpp>
#include <tessera/kernels/random.hpp>

namespace tessera::collective {
namespace {

template <class Block>
std::vector<std::uint64_t> list(Block const& block) {
  return {block[0], block[1], block[2], block[3]};
}
using Words = std::vector<std::uint64_t>;

// The file kat_vectors of Random123.
TEST(Philox, KnownAnswers) {
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(list(Philox4x32::block({0, 0, 0, 0}, {0, 0})), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(list(Philox4x32::block({ones, ones, ones, ones}, {ones, ones})),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(list(Philox4x32::block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0})),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}
TEST(Threefry, KnownAnswers) {
  constexpr std::uint64_t ones = 0xffffffffffffffff;
  EXPECT_EQ(list(Threefry4x64::block({0, 0, 0, 0}, {0, 0, 0, 0})),
            (Words{0x09218ebde6c85537, 0x55941f5266d86105, 0x4bd25e16282434dc, 0xee29ec846bd2e40b}));
  EXPECT_EQ(list(Threefry4x64::block({ones, ones, ones, ones}, {ones, ones, ones, ones})),
            (Words{0x29c24097942bba1b, 0x0371bbfb0f6f4e11, 0x3c231ffa33f83a1c, 0xcd29113fde32d168}));
}
static_assert(Philox4x32::block({0, 0, 0, 0}, {0, 0})[0] == 0x6627e8d5);

// Words of the authors' headers, of counters and keys in which each word has another value.
TEST(Random123, GivesTheSameWords) {
#ifdef TESSERA_HAVE_RANDOM123
  std::size_t wrong = 0;
  for (std::uint32_t i = 0; i < 1u << 20; ++i) {
    std::uint32_t const a = i * 2654435761u;
    std::uint64_t const b = i * 0x9E3779B97F4A7C15ull;
    r123::Philox4x32::ctr_type const counter{{i, a, a ^ i, ~i}};
    auto const philox = r123::Philox4x32()(counter, r123::Philox4x32::key_type{{a + 7, i}});
    auto const ours = Philox4x32::block({i, a, a ^ i, ~i}, {a + 7, i});
    r123::Threefry4x64::ctr_type const long_counter{{b, i, ~b, b ^ a}};
    auto const threefry = r123::Threefry4x64()(long_counter, r123::Threefry4x64::key_type{{~b, b, a, i}});
    auto const our_threefry = Threefry4x64::block({b, i, ~b, b ^ a}, {~b, b, a, i});
    for (std::size_t w = 0; w < 4; ++w) {
      wrong += philox[w] != ours[w] ? 1 : 0;
      wrong += threefry[w] != our_threefry[w] ? 1 : 0;
    }
  }
  EXPECT_EQ(wrong, 0u);
#else
  GTEST_SKIP() << "Random123's headers are not installed";
#endif
}

// The documented mapping, spelt out for some elements.
TEST(RandomWords, AreMappedAsDocumented) {
  std::uint64_t const seed = 0x0123456789abcdef;
  RandomWords<Philox4x32> const philox(seed, 5);
  RandomWords<Threefry4x64> const threefry(seed, 5);
  for (std::uint64_t const i : {std::uint64_t{0}, std::uint64_t{7}, (std::uint64_t{1} << 34) + 2}) {
    auto const at = [&](std::uint32_t word) {
      return Philox4x32::block({static_cast<std::uint32_t>(i / 4), static_cast<std::uint32_t>(i / 4 >> 32), 5, word},
                               {0x89abcdef, 0x01234567})[i % 4];
    };
    std::uint64_t const wide = at(0) | std::uint64_t{at(1)} << 32;
    EXPECT_EQ(static_cast<std::uint32_t>(Bits{}.at(philox, i)), at(0));
    EXPECT_EQ(Uniform<float>{}.at(philox, i), static_cast<float>(at(0) >> 8) * 0x1p-24f);
    EXPECT_EQ(PositiveUniform<float>{}.at(philox, i), static_cast<float>((at(0) >> 8) + 1) * 0x1p-24f);
    EXPECT_EQ(Uniform<double>{}.at(philox, i), static_cast<double>(wide >> 11) * 0x1p-53);
    std::uint64_t const word = Threefry4x64::block({i / 4, 5, 0, 0}, {seed, 0, 0, 0})[i % 4];
    EXPECT_EQ(static_cast<std::uint32_t>(Bits{}.at(threefry, i)), static_cast<std::uint32_t>(word));
    EXPECT_EQ(Uniform<double>{}.at(threefry, i), static_cast<double>(word >> 11) * 0x1p-53);
  }
}

// Words that a test chooses, the same for all elements.
struct Chosen {
  std::uint64_t first;
  std::uint64_t next = 0;
  template <class Bits>
  [[nodiscard]] KOKKOS_FUNCTION Kokkos::Array<Bits, 4> bits(std::uint64_t, std::uint32_t word) const {
    auto const value = static_cast<Bits>(word == 0 ? first : next);
    return {value, value, value, value};
  }
};

TEST(Distributions, EndsOfTheirRanges) {
  constexpr std::uint64_t ones = ~std::uint64_t{0};
  EXPECT_EQ(Uniform<float>{}.at(Chosen{0}, 0), 0.0f);
  EXPECT_EQ(Uniform<float>{}.at(Chosen{ones}, 0), 1.0f - 0x1p-24f);
  EXPECT_EQ(PositiveUniform<float>{}.at(Chosen{0}, 0), 0x1p-24f);
  EXPECT_EQ(PositiveUniform<float>{}.at(Chosen{ones}, 0), 1.0f);
  EXPECT_EQ(Uniform<double>{}.at(Chosen{ones}, 0), 1.0 - 0x1p-53);
  EXPECT_EQ(PositiveUniform<double>{}.at(Chosen{0}, 0), 0x1p-53);
  EXPECT_NEAR(Normal<float>{}.at(Chosen{0}, 0), 5.768f, 1e-3f);  // u = 2^-24, angle 0
  EXPECT_NEAR(Normal<double>{}.at(Chosen{0}, 0), 8.572, 1e-3);
  EXPECT_EQ(Normal<float>{}.at(Chosen{ones}, 0), 0.0f);  // u = 1
}

// All 2^22 + 1 rests that a normal number in float can have.
TEST(Normal, SineAndCosineOfEachAngle) {
  double worst_sine = 0;
  double worst_cosine = 0;
  for (int k = -(1 << 21); k <= 1 << 21; ++k) {
    float const t = static_cast<float>(k) * 0x1p-22f;
    auto const [sine, cosine] = detail::of_quarter_turns(t);
    double const angle = std::numbers::pi / 2 * static_cast<double>(t);
    worst_sine = std::max(worst_sine, std::abs(static_cast<double>(sine) - std::sin(angle)));
    worst_cosine = std::max(worst_cosine, std::abs(static_cast<double>(cosine) - std::cos(angle)));
  }
  EXPECT_LT(worst_sine, 1.7 * 0x1p-24);
  EXPECT_LT(worst_cosine, 1.3 * 0x1p-24);
}

// Each seventh u that a normal number in float can have, and all of the largest ones, where the logarithm cancels.
TEST(Normal, RadiusOfEachU) {
  double worst = 0;
  for (std::uint32_t k = 1; k < std::uint32_t{1} << 24; k += k < (std::uint32_t{1} << 24) - 65536 ? 7 : 1) {
    float const square = detail::minus_two_log<24>(static_cast<float>(k));
    double const exact = -2 * std::log(static_cast<double>(k) * 0x1p-24);
    worst = std::max(worst, std::abs(static_cast<double>(square) - exact) / exact);
  }
  EXPECT_LT(worst, 2 * 0x1p-24);
  EXPECT_EQ(detail::minus_two_log<24>(0x1p24f), 0);  // u = 1
  // Those that only 32 bits have.
  double worst_of_32 = 0;
  for (std::uint64_t k = 1; k < std::uint64_t{1} << 32; k += 1 + k / 4099) {
    auto const rounded = static_cast<float>(k);
    double const exact = -2 * std::log(static_cast<double>(rounded) * 0x1p-32);
    double const error = std::abs(static_cast<double>(detail::minus_two_log<32>(rounded)) - exact);
    worst_of_32 = std::max(worst_of_32, error / (rounded < 0x1p32f ? exact : 1));
  }
  EXPECT_LT(worst_of_32, 2 * 0x1p-24);
  EXPECT_EQ(detail::minus_two_log<32>(0x1p32f), 0);
}

// The eighths of a turn and their neighbours, and the ends of u.
template <class T>
void expect_normals_of_32() {
  for (std::uint32_t eighth = 0; eighth < 8; ++eighth) {
    for (std::uint32_t const step : {0xffff'ffffU, 0U, 1U}) {
      for (std::uint32_t const a : {1U, 0x8000'0001U, 0xffff'ffffU}) {
        std::uint32_t const v = (eighth << 29) + step;
        auto const k = static_cast<T>(a);
        auto const two = two_normals_of_32<T>(k, v);
        long double const r = std::sqrt(-2 * std::log(static_cast<long double>(k) * 0x1p-32L));
        long double const angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(v) * 0x1p-32L;
        auto const tolerance = static_cast<double>(normal_roundings * std::exp2(-std::numeric_limits<T>::digits) * r);
        EXPECT_NEAR(two[0], static_cast<double>(r * std::cos(angle)), tolerance) << a << " " << v;
        EXPECT_NEAR(two[1], static_cast<double>(r * std::sin(angle)), tolerance) << a << " " << v;
      }
    }
  }
}
TEST(Normal, Of32Bits) {
  expect_normals_of_32<float>();
  expect_normals_of_32<double>();
}

// Elements 0 and 2 have one word, 1 and 3 the other.
struct TwoWords {
  std::uint64_t even;
  std::uint64_t odd;
  template <class Bits>
  [[nodiscard]] KOKKOS_FUNCTION Kokkos::Array<Bits, 4> bits(std::uint64_t, std::uint32_t) const {
    auto const u = static_cast<Bits>(even);
    auto const v = static_cast<Bits>(odd);
    return {u, v, u, v};
  }
};

// The eighths of a turn and their neighbours, where the quadrant or the sign of the rest changes.
template <class T>
void expect_angles() {
  constexpr int size = 8 * sizeof(T);
  constexpr int digits = size == 64 ? 53 : 24;
  for (std::uint64_t eighth = 0; eighth < 8; ++eighth) {
    for (int step = -1; step <= 1; ++step) {
      std::uint64_t const v = (eighth << (digits - 3)) + static_cast<std::uint64_t>(step);
      std::uint64_t const of_v = v << (size - digits);
      auto const four = Normal<T>{}.four(TwoWords{std::uint64_t{1} << (size - 1), of_v}, 0);
      long double const part = static_cast<long double>(v & ((std::uint64_t{1} << digits) - 1)) /
                               std::exp2(static_cast<long double>(digits));
      long double const u = 0.5L + std::exp2(static_cast<long double>(-digits));
      long double const r = std::sqrt(-2 * std::log(u));
      long double const angle = 2 * std::numbers::pi_v<long double> * part;
      auto const tolerance = static_cast<double>(normal_roundings * std::exp2(-digits) * r);
      EXPECT_NEAR(four[0], static_cast<double>(r * std::cos(angle)), tolerance) << eighth << " eighths " << step;
      EXPECT_NEAR(four[1], static_cast<double>(r * std::sin(angle)), tolerance) << eighth << " eighths " << step;
    }
  }
}
TEST(Normal, AnglesBesideEighths) {
  expect_angles<float>();
  expect_angles<double>();
}

TEST(Integers, AreRejectedAsDocumented) {
  // 2^32 mod 6 = 4: word 0 times 6 has the lower half 0, which is below 4.
  EXPECT_EQ(Integers(10, 16).at(Chosen{0, 0xffffffff}, 3), 15);
  EXPECT_EQ(Integers(10, 16).at(Chosen{1, 0xffffffff}, 3), 10);
  EXPECT_EQ(Integers(-3, -2).at(Chosen{0xffffffff}, 0), -3);
  std::int64_t const half = std::int64_t{1} << 31;
  EXPECT_EQ(Integers(-half, half).at(Chosen{0}, 0), -half);
  EXPECT_EQ(Integers(-half, half).at(Chosen{0xffffffff}, 0), half - 1);
}

// Each integer of a small interval has the same number of accepted words. The 2^16 words are the upper halves of all.
TEST(Integers, AreUnbiased) {
  constexpr int range = 7;
  std::array<std::uint64_t, range> accepted{};
  std::uint64_t const rejected = (std::uint64_t{1} << 32) % range;
  for (std::uint64_t value = 0; value < range; ++value) {
    // The words w with value * 2^32 + rejected <= w * range < (value + 1) * 2^32.
    std::uint64_t const begin = ((value << 32) + rejected + range - 1) / range;
    std::uint64_t const end = (((value + 1) << 32) + range - 1) / range;
    accepted[value] = end - begin;
    for (std::uint64_t const word : {begin, end - 1}) {
      EXPECT_EQ(Integers(0, range).at(Chosen{word, 0}, 0), static_cast<int>(value)) << word;
    }
  }
  for (std::uint64_t const count : accepted) EXPECT_EQ(count, accepted[0]);
}

// Several counters per index, as on a GPU; hosts have one.
template <class T>
struct ThreeCounters {
  static constexpr int pack = pack_width<T>;
  static constexpr int items = 3;
  static constexpr int apart = 8;
};

// A part that begins anywhere has the bits of the whole, also if it is not aligned to 16 bytes.
template <class T, class Distribution, class Tuning = kernels::RandomTuning<Kokkos::DefaultExecutionSpace, T>>
void expect_parts(Distribution const& distribution) {
  using Exec = Kokkos::DefaultExecutionSpace;
  Exec const exec;
  std::size_t const n = 1003;
  Kokkos::View<T*, Exec> const whole("whole", n);
  kernels::FillRandom<Exec, T, Distribution>(42, 7, distribution)(exec, whole);
  auto const expected = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, whole);
  for (std::size_t begin = 0; begin < 9; ++begin) {
    for (std::size_t const count : {0, 1, 2, 5, 8, 990}) {
      for (std::size_t const shift : {0, 1, 2, 3}) {
        Kokkos::View<T*, Exec> const memory("memory", count + 8);
        auto const part = Kokkos::subview(memory, std::make_pair(shift, shift + count));
        kernels::FillRandom<Exec, T, Distribution, Philox4x32, Tuning>(42, 7, distribution, begin)(exec, part);
        auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, memory);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < memory.extent(0); ++i) {
          bool const inside = i >= shift && i < shift + count;
          wrong += found(i) != (inside ? expected(begin + i - shift) : T(0)) ? 1 : 0;
        }
        EXPECT_EQ(wrong, 0u) << count << " elements from " << begin << " on, at " << shift;
      }
    }
  }
}
TEST(FillRandom, PartsAgree) {
  expect_parts<std::int32_t>(Bits{});
  expect_parts<std::int32_t>(Integers(-5, 1000));
  expect_parts<float>(Normal<float>{});
  expect_parts<double>(Uniform<double>{});
  expect_parts<float, Normal<float>, ThreeCounters<float>>(Normal<float>{});
  expect_parts<double, Uniform<double>, ThreeCounters<double>>(Uniform<double>{});
}

}  // namespace
}  // namespace tessera::collective
