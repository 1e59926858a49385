// A reference in 8 bytes per element gives the verdicts of the whole one: right results pass, and errors of one unit in
// the last place beyond the bound fail.

#include <tessera/verify/compact.hpp>

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include <tessera/verify/joined.hpp>
#include <tessera/verify/verify.hpp>

namespace tessera {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

ExpectedField whole_field(std::vector<WholeElement> const& elements) {
  ExpectedField field = zero_field("y", {elements.size()}, true);
  field.offset.resize(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    field.value[i] = elements[i].value;
    field.scale[i] = elements[i].scale;
    field.offset[i] = elements[i].offset;
  }
  return field;
}

ExpectedField compact_field(std::vector<WholeElement> const& elements) {
  ExpectedField field{.name = "y", .shape = {elements.size()}, .value = {}, .scale = {}};
  std::shared_ptr<CompactElement[]> const compact(new CompactElement[elements.size()]);
  for (std::size_t i = 0; i < elements.size(); ++i) compact[i] = compacted(elements[i]).value();
  field.compact = compact;
  return field;
}

HostField results(std::vector<float> const& values) {
  auto const data = std::make_shared<std::vector<float>>(values);
  return {"y", DType::float32, {values.size()}, {data, data->data()}};
}

bool passes(ExpectedField const& expected, float actual, double steps) {
  return verify(expected, results({actual}), steps).passed;
}

// Elements of every kind, with values of all magnitudes, at powers of two and at ties.
std::vector<WholeElement> various() {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(1, 2);
  std::uniform_int_distribution<int> binade(-152, 120);
  std::vector<double> values{0.0, -0.0, 1.0, -1.0, 1e-60, 0x1p-149, 1.5 * 0x1p-149, 0x1p-126, 1 + 0x1p-24};
  for (int i = 0; i < 120; ++i) {
    double const value = std::ldexp(uniform(random), binade(random)) * (i % 2 == 0 ? 1 : -1);
    auto const nearest = static_cast<double>(static_cast<float>(value));
    double const power = std::ldexp(1, binade(random));
    values.insert(values.end(), {value, nearest, nearest * (1 + 0x1p-24), nearest * (1 + 0x1p-40), power,
                                 power * (1 - 0x1p-25), power * (1 - 0x1p-33), power * (1 - 0x1p-50)});
  }
  std::vector<WholeElement> all;
  for (double const value : values) {
    double const magnitude = std::abs(value);
    double const other = std::ldexp(uniform(random), binade(random) / 2) * std::max(magnitude, 0x1p-140);
    all.insert(all.end(), {{value, magnitude, 0},
                           {value, magnitude, 0x1p-22 * uniform(random) * magnitude + 0x1p-146},
                           {value, other, 0},
                           {value, 0, 0x1p-20 * uniform(random) * magnitude},
                           {value, 0, other}});
  }
  return all;
}

// Returns the float that is `steps` floats above `from`, in the order of the floats.
float above(float from, std::int64_t steps) {
  auto const order = [](std::int32_t bits) {
    return bits >= 0 ? std::int64_t{bits} : -(bits & std::int64_t{0x7FFFFFFF});
  };
  std::int64_t const at = order(std::bit_cast<std::int32_t>(from)) + steps;
  auto const magnitude = std::bit_cast<float>(static_cast<std::int32_t>(std::abs(at)));
  return at < 0 ? -magnitude : magnitude;
}

// The last float that passes, upwards or downwards from the value; found by bisection, because bounds are intervals.
std::int64_t last_that_passes(ExpectedField const& expected, float from, double steps, int direction) {
  std::int64_t in = 0;
  std::int64_t out = 1;
  while (out < (1 << 28) && passes(expected, above(from, direction * out), steps)) {
    in = out;
    out *= 2;
  }
  while (out - in > 1) {
    std::int64_t const middle = (in + out) / 2;
    (passes(expected, above(from, direction * middle), steps) ? in : out) = middle;
  }
  return in;
}

TEST(Compact, PassesWhatTheWholePassesAndFailsOneUnitBeyond) {
  int narrower_than_4096_ulps = 0;
  for (WholeElement const& element : various()) {
    ExpectedField const whole = whole_field({element});
    ExpectedField const compact = compact_field({element});
    auto const nearest = static_cast<float>(element.value);
    for (double const steps : {0.0, 1.0, 7.0, 300.0}) {
      SCOPED_TRACE(testing::Message() << element.value << ", scale " << element.scale << ", offset " << element.offset
                                      << ", steps " << steps);
      if (!passes(whole, nearest, steps)) {  // the wanted float itself may be beyond a bound of 0
        ADD_FAILURE() << "the nearest float must pass";
        continue;
      }
      EXPECT_TRUE(passes(compact, nearest, steps));
      for (int const direction : {-1, 1}) {
        std::int64_t const last = last_that_passes(whole, nearest, steps, direction);
        float const right = above(nearest, direction * last);
        EXPECT_TRUE(passes(compact, right, steps)) << right;
        if (last > 4000 || std::isinf(above(nearest, direction * (last + 2)))) continue;
        // `last + 1` fails by less than a unit; the compact bound may reach it, but not the next.
        ++narrower_than_4096_ulps;
        EXPECT_FALSE(passes(compact, above(nearest, direction * (last + 2)), steps)) << last;
      }
    }
  }
  EXPECT_GT(narrower_than_4096_ulps, 10000);
}

// Bounds of the whole that end at least a tenth of a unit from a float: every verdict is the same.
TEST(Compact, GivesTheSameVerdictAwayFromTheEdge) {
  for (double const units : {0.6, 3.6, 40.6, 200.6}) {
    for (double const rest : {-0.4, -0.1, 0.0, 0.1, 0.3}) {
      WholeElement const element{1.5 + rest * 0x1p-23, 0, (units + rest) * 0x1p-23 + 0x1p-60};
      ExpectedField const whole = whole_field({element});
      ExpectedField const compact = compact_field({element});
      for (std::int64_t k = -310; k <= 310; ++k) {
        ASSERT_EQ(passes(compact, above(1.5F, k), 0), passes(whole, above(1.5F, k), 0))
            << units << " " << rest << " " << k;
      }
    }
  }
}

// An element without bounds is a rounding of its value; nothing near it passes, whatever the steps.
TEST(Compact, WhatMustBeEqualMustBeEqual) {
  for (WholeElement element : various()) {
    element.scale = element.offset = 0;
    ExpectedField const compact = compact_field({element});
    auto const nearest = static_cast<float>(element.value);
    EXPECT_TRUE(passes(compact, nearest, 50)) << element.value;
    EXPECT_FALSE(passes(compact, above(nearest, 1), 50)) << element.value;
    EXPECT_FALSE(passes(compact, above(nearest, -1), 50)) << element.value;
  }
  EXPECT_TRUE(passes(compact_field({{1e39, 0, 0}}), std::numeric_limits<float>::infinity(), 1));
}

TEST(Compact, KeepsWhatHasNoNumber) {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  float const inf = std::numeric_limits<float>::infinity();
  for (double const offset : {0.0, 1.0}) {
    EXPECT_TRUE(passes(compact_field({{nan, 0, offset}}), nan, 5));
    EXPECT_FALSE(passes(compact_field({{nan, 0, offset}}), 0, 5));
    EXPECT_TRUE(passes(compact_field({{-infinity, 0, offset}}), -inf, 5));
    EXPECT_FALSE(passes(compact_field({{-infinity, 0, offset}}), inf, 5));
    EXPECT_FALSE(passes(compact_field({{1, 0, offset}}), nan, 5));
  }
  for (WholeElement const& unknown :
       {WholeElement{1, infinity, 0}, WholeElement{1, infinity, 2}, WholeElement{1, 0, infinity},
        WholeElement{infinity, infinity, 0}, WholeElement{1e300, infinity, 0}}) {
    EXPECT_EQ(verify(compact_field({unknown}), results({7}), 5).seen.unchecked, 1U);
  }
}

TEST(Compact, SaysWhatDoesNotFit) {
  EXPECT_FALSE(compacted({1, 2, 3}));     // two bounds
  EXPECT_FALSE(compacted({1e39, 1, 0}));  // beyond the range of float
  EXPECT_FALSE(compacted({1, std::nan(""), 0}));
  EXPECT_FALSE(compacted({1, 0, std::nan("")}));
  EXPECT_FALSE(compacted({1, -1, 0}));
  EXPECT_TRUE(compacted({3, 3, 3}));
  EXPECT_EQ(sizeof(CompactElement), 8U);
}

TEST(Compact, HasNoBoundsForFactorsOfBFloat16) {
  Chain const chain(5, false, false, {.bfloat16_factors = true});
  EXPECT_FALSE(verify(compact_field({{1, 1, 0}}), results({1}), chain).passed);
}

// A sample, the coverage, and a comparison with values from a file.
TEST(Compact, SamplesAndCoverageAreThoseOfTheWhole) {
  std::vector<WholeElement> const elements = various();
  std::vector<float> right;
  for (WholeElement const& element : elements) right.push_back(static_cast<float>(element.value));
  ExpectedField const whole = whole_field(elements);
  ExpectedField const compact = compact_field(elements);
  auto const stretches = sample_of(elements.size(), 500, 3);
  for (bool const sampled : {false, true}) {
    Verdict const one = sampled ? verify(gather(whole, stretches), gather(results(right), stretches), 9)
                                : verify(whole, results(right), 9);
    Verdict const other = sampled ? verify(gather(compact, stretches), gather(results(right), stretches), 9)
                                  : verify(compact, results(right), 9);
    EXPECT_TRUE(one.passed && other.passed) << other.message;
    EXPECT_EQ(other.seen.count, one.seen.count);
    EXPECT_EQ(other.seen.finite, one.seen.finite);
    EXPECT_GE(other.seen.largest_bound, one.seen.largest_bound);
    EXPECT_LE(other.seen.largest_bound, 1.001 * one.seen.largest_bound);
    EXPECT_LE(other.seen.sensitivity(), 1.001 * one.seen.sensitivity());
    EXPECT_NEAR(other.seen.sharpest(), one.seen.sharpest(), 0.07 * one.seen.sharpest());
  }
  EXPECT_TRUE(verify_against_file(results(right), compact, results(right), 9).passed);
  right[17] = above(right[17], 1 << 20);
  EXPECT_FALSE(verify(compact, results(right), 9).passed);
}

// Elements in any order, kept compact if they are many floats; results that lack one part fail.
TEST(Compact, BoundedElementsAreCompactIfTheyAreMany) {
  for (std::size_t const n : {std::size_t{1000}, part_elements() + 5}) {
    BoundedElements<float> some("y", {n}, true);
    std::vector<float> right(n);
    for (std::size_t i = n; i-- > 0;) {
      double const value = std::exp(-static_cast<double>(i % 97));
      some.set(i, {value, value, 0x1p-22 * value});
      right[i] = static_cast<float>(value);
    }
    ExpectedField const field = some.take();
    EXPECT_EQ(field.compact != nullptr, n > 1000);
    EXPECT_EQ(field.value.empty(), n > 1000);
    EXPECT_TRUE(verify(field, results(right), 3).passed);
    for (std::size_t i = n / 2; i < n / 2 + 256; ++i) right[i] = 0;
    Verdict const lost = verify(field, results(right), 3);
    EXPECT_FALSE(lost.passed);
    EXPECT_EQ(lost.wrong, 256U);
    EXPECT_EQ(lost.first_wrong, n / 2);
  }
  BoundedElements<float> some("y", {part_elements() + 5}, true);
  EXPECT_THROW(some.set(0, {1, 2, 3}), std::logic_error);
}

}  // namespace
}  // namespace tessera
