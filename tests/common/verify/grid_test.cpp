// Proofs that a sum is exact: they must never hold for a sum that is rounded in some order, and must hold for generated
// data.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <tessera/core/random.hpp>
#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/sum_oracle.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::verify {
namespace {

template <class T>
bool sum_is_exact(std::vector<T> const& terms) {
  SumOracle<T> sum;
  for (T const term : terms) sum.add(term);
  return sum.is_exact();
}

template <class T>
bool scan_is_exact(std::vector<T> const& terms) {
  ScanProof proof;
  proof.begin();
  double prefix = 0;
  for (T const term : terms) {
    prefix += static_cast<double>(term);
    proof.add(static_cast<double>(term), prefix);
  }
  return proof.holds<T>();
}

// The same with two merged proofs.
template <class T>
bool scan_is_exact_in_parts(std::vector<T> const& terms, std::vector<std::size_t> const& begins, std::size_t cut) {
  ScanProof proofs[2];
  double prefix = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    ScanProof& proof = proofs[i < cut ? 0 : 1];
    if (std::find(begins.begin(), begins.end(), i) != begins.end()) {
      proof.begin();
      prefix = 0;
    }
    prefix += static_cast<double>(terms[i]);
    proof.add(static_cast<double>(terms[i]), prefix);
  }
  proofs[0].merge(proofs[1]);
  return proofs[0].template holds<T>();
}

// Zeros, denormals, the ends of the range, what is not finite, and numbers of any exponent, from there on in any order.
template <class T>
std::vector<T> numbers_of_all_kinds(std::uint64_t seed) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> const special{0,
                               T(-0.0),
                               Limits::denorm_min(),
                               3 * Limits::denorm_min(),
                               Limits::min(),
                               Limits::max(),
                               Limits::infinity(),
                               -Limits::infinity(),
                               Limits::quiet_NaN()};
  std::vector<T> numbers;
  for (std::uint64_t i = 0; i < 200; ++i) {
    std::uint64_t const bits = random_bits(seed, 0, i);
    bool const is_special = seed % 3 == 0 && bits % 16 < special.size();
    auto const exponent = static_cast<int>((bits >> 8) % 200) - 100;
    numbers.push_back(is_special ? special[bits % 16] : std::ldexp(random_value<T>(seed, 1, i), exponent));
  }
  return numbers;
}

template <class T>
void expect_same_grid_of_array() {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<T> const numbers = numbers_of_all_kinds<T>(seed);
    for (std::size_t const count : {std::size_t{0}, std::size_t{1}, std::size_t{3}, numbers.size()}) {
      Grid one_by_one;
      for (std::size_t i = 0; i < count; ++i) one_by_one.add(static_cast<double>(numbers[i]));
      Grid const of_array = grid_of(numbers.data(), count);
      EXPECT_EQ(of_array.spacing(), one_by_one.spacing()) << seed << ", " << count;
      EXPECT_EQ(of_array.template holds<double>(1), one_by_one.template holds<double>(1)) << seed << ", " << count;
    }
  }
}
TEST(Grid, OfAnArrayAsOfItsElements) {
  expect_same_grid_of_array<float>();
  expect_same_grid_of_array<double>();
}

template <class T>
void expect_same_sums() {
  constexpr std::size_t count = 5;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<T> const numbers = numbers_of_all_kinds<T>(seed);
    ExactSums<count> sums;
    ExactSum alone[count];
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
      sums.add_product_of(i % count, numbers[i], numbers[i + 1]);
      alone[i % count].add_product_of(numbers[i], numbers[i + 1]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      bool const are_nan = std::isnan(sums.value(i)) && std::isnan(alone[i].value());
      EXPECT_TRUE(are_nan ||
                  std::bit_cast<std::uint64_t>(sums.value(i)) == std::bit_cast<std::uint64_t>(alone[i].value()))
          << seed << ", " << i << ": " << sums.value(i) << ", alone " << alone[i].value();
    }
  }
}
TEST(ExactSums, AsEachAlone) {
  expect_same_sums<float>();
  expect_same_sums<double>();
}

// The sum of neighbours must not depend on whether they are added at once, bit by bit.
template <class T>
void expect_same_sum_of_neighbours() {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<T> numbers = numbers_of_all_kinds<T>(seed);
    if (seed % 2 == 0) {  // neighbours whose sums double holds
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = random_value<T>(seed, 0, i);
    }
    SumOracle<T> at_once;
    SumOracle<T> alone;
    at_once.add(numbers.data(), numbers.size());
    for (T const number : numbers) alone.add(number);
    auto const bits = [](double number) { return std::isnan(number) ? 0 : std::bit_cast<std::uint64_t>(number); };
    EXPECT_EQ(bits(at_once.value()), bits(alone.value())) << seed;
    EXPECT_EQ(bits(at_once.scale()), bits(alone.scale())) << seed;
    EXPECT_EQ(at_once.spacing(), alone.spacing()) << seed;
    EXPECT_EQ(at_once.is_exact(), alone.is_exact()) << seed;
  }
}
TEST(SumOracle, OfNeighboursAsOfEach) {
  expect_same_sum_of_neighbours<float>();
  expect_same_sum_of_neighbours<double>();
}

// Integers wrap, and keep bits that a double does not hold; a sum is also put together from parts.
template <class T>
void expect_wrapped_sums() {
  using Limits = std::numeric_limits<T>;
  SumOracle<T> sum;
  for (T const term : {Limits::max(), T(1), Limits::max(), Limits::max()}) sum.add(term);
  SumOracle<T> more;
  more.add(T(4));
  sum.merge(more);
  T const expected = Limits::is_signed ? T(Limits::lowest() + 2) : T(2);
  EXPECT_EQ(sum.integer(), expected);
  EXPECT_EQ(sum.value(), static_cast<double>(expected));
  more.add(Limits::max() / 2);
  EXPECT_EQ(more.integer(), Limits::max() / 2 + 4);
  EXPECT_TRUE(sum.is_exact());
}
TEST(SumOracle, IntegersWrap) {
  expect_wrapped_sums<std::int32_t>();
  expect_wrapped_sums<std::int64_t>();
  expect_wrapped_sums<std::uint32_t>();
  expect_wrapped_sums<std::uint64_t>();
}

// Each segment spans less than 2^24, but the whole as one segment does not.
TEST(ScanProof, PartsOfSegments) {
  std::vector<float> const terms{0x1p23F, 1.0F, -0x1p23F, -0x1p23F, -1.0F, 0x1p22F};
  for (std::size_t cut = 0; cut <= terms.size(); ++cut) {
    EXPECT_FALSE(scan_is_exact_in_parts(terms, {0}, cut)) << cut;
    EXPECT_TRUE(scan_is_exact_in_parts(terms, {0, 3}, cut)) << cut;
    EXPECT_TRUE(scan_is_exact_in_parts(terms, {0, 2, 3}, cut)) << cut;
    EXPECT_FALSE(scan_is_exact_in_parts(terms, {0, 2, 4}, cut)) << cut;
    EXPECT_TRUE(scan_is_exact_in_parts(terms, {0, 1, 2, 3, 4, 5}, cut)) << cut;
    EXPECT_FALSE(scan_is_exact_in_parts(terms, {0, 5}, cut)) << cut;
  }
  // The widest segment is in the middle or contains the cut.
  std::vector<float> const wide{1.0F, 0x1p23F, 0x1p23F, 1.0F, 1.0F};
  for (std::size_t cut = 0; cut <= wide.size(); ++cut) {
    EXPECT_FALSE(scan_is_exact_in_parts(wide, {0, 1, 3}, cut)) << cut;
    EXPECT_TRUE(scan_is_exact_in_parts(wide, {0, 1, 2, 3}, cut)) << cut;
  }
}

TEST(SumOracle, HoldsUpToThePrecision) {
  EXPECT_TRUE(sum_is_exact<float>({}));
  EXPECT_TRUE(sum_is_exact<float>({0.0F, -0.0F}));
  EXPECT_TRUE(sum_is_exact<float>({0x1p23F, 0x1p23F - 1}));
  EXPECT_FALSE(sum_is_exact<float>({0x1p24F, 1.0F}));             // 2^24 + 1 is no float
  EXPECT_FALSE(sum_is_exact<float>({0x1p24F, -0x1p24F, 1.0F}));   // rounded in some order
  EXPECT_TRUE(sum_is_exact<float>({0x1p24F, 0x1p25F, 0x1p47F}));  // multiples of 2^24
  EXPECT_FALSE(sum_is_exact<float>({0x1p24F, 0x1p25F, 0x1p48F}));
  EXPECT_FALSE(sum_is_exact<float>({0x1p22F, 0.25F}));
  EXPECT_TRUE(sum_is_exact<float>({0x1p21F, 0.25F}));
  EXPECT_TRUE(sum_is_exact<double>({0x1p24, 1.0}));
  EXPECT_FALSE(sum_is_exact<double>({0x1p53, 1.0}));
  EXPECT_FALSE(sum_is_exact<double>(std::vector<double>(4, 0x1p53 - 1)));  // the sum of magnitudes is itself rounded
}

TEST(SumOracle, EndsOfTheRange) {
  EXPECT_TRUE(sum_is_exact<float>({0x1p-126F, 0x1p-149F}));  // additions of denormals are exact
  EXPECT_FALSE(sum_is_exact<float>({0x1p-125F, 0x1p-149F}));
  EXPECT_TRUE(sum_is_exact<double>({0x1p-1074, 0x1p-1022}));
  SumOracle<float> products;
  products.add_product(0x1p-100F, 0x1p-50F);  // the product is no float
  EXPECT_FALSE(products.is_exact());
  EXPECT_FALSE(sum_is_exact<float>({0x1.fffffep127F, 0x1p104F}));  // may overflow
  EXPECT_FALSE(sum_is_exact<float>({1.0F, std::nanf("")}));
  EXPECT_FALSE(sum_is_exact<float>({1.0F, HUGE_VALF}));
}

TEST(SumOracle, ProductsOfTwo) {
  SumOracle<float> of_float;
  of_float.add_product(3.0F, 0.5F);
  EXPECT_TRUE(of_float.is_exact());
  of_float.add_product(0x1.000002p0F, 0x1.000002p0F);  // needs 47 bits
  EXPECT_FALSE(of_float.is_exact());
  EXPECT_TRUE(is_exact_product(3.0F, 0.5F));
  EXPECT_FALSE(is_exact_product(0x1.000002p0F, 0x1.000002p0F));
  EXPECT_FALSE(is_exact_product(0x1p-149F, 0.5F));
  EXPECT_TRUE(is_exact_product(3.0, 0.5));
  EXPECT_FALSE(is_exact_product(0x1p-1074, 0.5));  // the loss leaves no trace in the result
  EXPECT_TRUE(is_exact_product(0.0, 0x1p-1074));
  SumOracle<double> of_double;
  of_double.add_product(3.0, 0.5);
  EXPECT_TRUE(of_double.is_exact());
  of_double.add_product(1 + 0x1p-52, 1 + 0x1p-52);  // rounded here, so its grid is unknown
  EXPECT_FALSE(of_double.is_exact());
}

// Every sum that is claimed to be exact must be exact: sums in many orders, rounded to float at each step, are compared
// with double.
TEST(SumOracle, SaysItOnlyOfExactSums) {
  int said = 0;
  for (std::uint64_t draw = 0; draw < 4000; ++draw) {
    std::vector<float> terms;
    std::uint64_t const shape = random_bits(1, 0, draw);
    for (std::uint64_t i = 0; i < 2 + shape % 9; ++i) {
      auto const whole =
          static_cast<float>(static_cast<std::int64_t>(random_bits(draw, 1, i) >> (36 + (shape >> 8) % 16)) -
                             static_cast<std::int64_t>(1 + (shape >> 20) % 1000));
      terms.push_back(std::ldexp(whole, static_cast<int>(random_bits(draw, 2, i) % 6)));
    }
    if (!sum_is_exact(terms)) continue;
    ++said;
    double exact = 0;
    for (float const term : terms) exact += static_cast<double>(term);
    for (std::size_t first = 0; first < terms.size(); ++first) {
      float sum = 0;
      for (std::size_t i = 0; i < terms.size(); ++i) sum += terms[(first + i * (1 + draw % 2)) % terms.size()];
      if (draw % 2 == 0 || terms.size() % 2 != 0) {
        EXPECT_EQ(static_cast<double>(sum), exact) << draw;
      }
    }
  }
  EXPECT_GT(said, 500);
  EXPECT_LT(said, 3800);
}

TEST(ScanProof, LooksAtTheSpanOfPrefixes) {
  EXPECT_TRUE(scan_is_exact<float>({}));
  // Magnitudes sum up to 2^26, but prefixes stay within 2^23: no partial range is larger.
  std::vector<float> walk;
  for (int i = 0; i < 8; ++i) walk.push_back(i % 2 == 0 ? 0x1p23F : -0x1p23F);
  walk.push_back(1.0F);
  EXPECT_TRUE(scan_is_exact(walk));
  EXPECT_FALSE(sum_is_exact(walk));
  walk.push_back(0x1p23F);
  walk.push_back(0x1p23F);
  EXPECT_FALSE(scan_is_exact(walk));
  // The span of the prefixes counts, not the largest prefix.
  EXPECT_TRUE(scan_is_exact<float>({0x1p23F, -0x1p23F, -0x1p22F, 1.0F}));
  EXPECT_FALSE(scan_is_exact<float>({0x1p23F, -0x1p23F, -0x1p23F, 1.0F}));
}

TEST(ScanProof, SegmentsBeginAnew) {
  ScanProof proof;
  for (int segment = 0; segment < 3; ++segment) {
    proof.begin();
    proof.add(0x1p23, 0x1p23);
    proof.add(1, 0x1p23 + 1);
  }
  EXPECT_TRUE(proof.holds<float>());
  proof.begin();
  proof.add(0x1p24, 0x1p24);
  proof.begin();
  EXPECT_FALSE(proof.holds<float>());  // the widest segment decides
}

TEST(Sparsity, SumsStayFloats) {
  for (int power = 0; power <= 32; ++power) {
    for (std::uint64_t const factor : {1, 4, 16}) {
      std::uint64_t const terms = (std::uint64_t{1} << power) + (power > 2 ? 3 : 0);
      Sparsity const sparsity = Sparsity::of(terms, factor);
      EXPECT_GE(sparsity.largest, 4U);
      double const most = (std::ceil(static_cast<double>(terms) / static_cast<double>(sparsity.block)) + 1) *
                          static_cast<double>(sparsity.largest * factor);
      EXPECT_LE(most, 0x1p24) << power << " " << factor;
    }
  }
}

TEST(Sparsity, OneOfEachBlock) {
  Sparsity const sparsity = Sparsity::of(std::uint64_t{1} << 26);
  ASSERT_EQ(sparsity.block, 32U);
  std::vector<int> places(32);
  for (std::uint64_t block = 0; block < 1000; ++block) {
    int nonzero = 0;
    for (std::uint64_t i = 0; i < 32; ++i) {
      std::uint64_t const value = sparsity.value(42, 0, 5, block * 32 + i);
      EXPECT_LE(value, sparsity.largest);
      if (value == 0) continue;
      ++nonzero;
      ++places[i];
    }
    EXPECT_EQ(nonzero, 1) << block;
  }
  for (int const count : places) EXPECT_GT(count, 0);
}

// The walk of prefix_sum: the proof holds far beyond sizes that a test could run.
TEST(ScanProof, HoldsForAWalkOfSmallSteps) {
  ScanProof proof;
  proof.begin();
  double prefix = 0;
  for (std::uint64_t i = 0; i < (1U << 22); ++i) {
    auto const step = static_cast<double>(random_bits(42, 0, i) % 129) - 64;
    prefix += step;
    proof.add(step, prefix);
  }
  EXPECT_TRUE(proof.holds<float>());
}

// Formulas in wider types, converted back: integers wrap, and floats lose only what float cannot represent.
TEST(Wide, IsStoredAsTheDtypeHasIt) {
  std::int32_t const largest = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(stored(wide(largest)), 2147483647.0);
  EXPECT_EQ(stored(wide(largest) + 1), -2147483648.0);
  EXPECT_EQ(stored(wide(largest) * wide(largest)), 1.0);
  EXPECT_EQ(stored(wide(0x1p24F) + wide(1.0F)), 0x1p24 + 1);
  EXPECT_EQ(stored(wide(std::numeric_limits<float>::max()) * 2), 0x1p129 - 0x1p105);
}

// A partial sum lies between the sum of the positive and the sum of the negative terms. If both bounds give the same
// result, the result is known.
TEST(Wide, ScaleIsInfiniteOnlyWhereTheOrderMatters) {
  double const infinity = std::numeric_limits<double>::infinity();
  double const largest = static_cast<double>(std::numeric_limits<float>::max());
  EXPECT_EQ(scale_of_sum<float>(0, largest), largest);
  EXPECT_EQ(scale_of_sum<float>(8 * 3e38, 8 * 3e38), 8 * 3e38);  // all of one sign
  EXPECT_EQ(scale_of_sum<float>(-8 * 3e38, 8 * 3e38), 8 * 3e38);
  EXPECT_EQ(scale_of_sum<float>(1e38, 5e38), 5e38);        // 3e38 - 2e38
  EXPECT_EQ(scale_of_sum<float>(8e38, 1e39), 1e39);        // 9e38 - 1e38
  EXPECT_EQ(scale_of_sum<float>(2e38, 8e38), infinity);    // 3e38 + 2e38 - 3e38
  EXPECT_EQ(scale_of_sum<float>(0, 1.2e39), infinity);     // 6e38 - 6e38
  EXPECT_EQ(scale_of_sum<float>(5e38, 1.5e39), infinity);  // 1e39 - 5e38
  EXPECT_EQ(scale_of_sum<float>(infinity, 1.2e39), infinity);
  EXPECT_EQ(scale_of_sum<float>(infinity, 1), 1);
  EXPECT_EQ(scale_of_sum<float>(std::nan(""), 1.2e39), 1.2e39);
  EXPECT_EQ(scale_of_sum<double>(1.0001 * largest, 1.0001 * largest), 1.0001 * largest);
  EXPECT_EQ(scale_of_sum<double>(infinity, infinity), infinity);
}

// Values that users may divide by, sum or square: none of them is infinite, nor is a sum of 2^32 of them.
TEST(AdversarialValues, StayInRange) {
  int zeros = 0;
  int denormals = 0;
  for (std::uint64_t i = 0; i < 100000; ++i) {
    float const value = adversarial_value<float>(42, 0, i);
    EXPECT_LE(std::abs(value), 0x1p40F);
    zeros += value == 0 ? 1 : 0;
    denormals += std::fpclassify(value) == FP_SUBNORMAL ? 1 : 0;
  }
  EXPECT_GT(zeros, 1000);
  EXPECT_GT(denormals, 1000);
}

}  // namespace
}  // namespace tessera::verify
