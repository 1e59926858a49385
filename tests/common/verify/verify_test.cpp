// The verifier on right and wrong results. Each rule of verify.hpp has a test that fails without the rule.

#include <tessera/core/random.hpp>
#include <tessera/verify/compact.hpp>
#include <tessera/verify/sample.hpp>
#include <tessera/verify/verify.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

using tessera::Chain;
using tessera::ExpectedField;
using tessera::HostField;
using tessera::Shape;
using tessera::Verdict;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double exact = 0;  // rounding steps

template <class T>
HostField field(std::vector<T> const& values, Shape shape) {
  auto data = std::make_shared<std::vector<T>>(values);
  return {"out", tessera::dtype_of<T>, std::move(shape), std::shared_ptr<void const>(data, data->data())};
}
template <class T>
HostField field(std::vector<T> const& values) {
  return field(values, {values.size()});
}

ExpectedField reference(std::vector<double> const& values, std::vector<double> const& scale = {}) {
  return {"out", {values.size()}, values, scale};
}
/// A reference of one element.
ExpectedField reference(double value, double scale) { return reference(std::vector{value}, {scale}); }

/// Return whether `actual` passes for one element: against a reference, or against a file's value.
template <class T>
bool passes(double value, double scale, T actual, double steps) {
  return verify(reference(value, scale), field<T>({actual}), steps).passed;
}
template <class T>
bool passes_against_file(T value, double scale, T actual, double steps) {
  return verify_against_file(field<T>({value}), reference(static_cast<double>(value), scale), field<T>({actual}), steps)
      .passed;
}

template <class T>
T next(T value) {
  return std::nextafter(value, std::numeric_limits<T>::infinity());
}
template <class T>
T previous(T value) {
  return std::nextafter(value, -std::numeric_limits<T>::infinity());
}

/// Values 1..n, each with its value as scale.
struct Sequence {
  explicit Sequence(std::size_t n) : values(n) { std::iota(values.begin(), values.end(), 1.0); }
  template <class T>
  [[nodiscard]] std::vector<T> right() const {
    return {values.begin(), values.end()};
  }
  [[nodiscard]] ExpectedField expected() const { return reference(values, values); }
  std::vector<double> values;
};

/// Compares elements together with the rest of a field, and each of them alone: the verdicts must agree.
template <class T>
void expect_same_alone(ExpectedField const& expected, std::vector<T> const& actual, Chain const& chain) {
  Verdict const all = verify(expected, field(actual), chain);
  Verdict alone;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    auto const of_one = [&](std::vector<double> const& all_of) {
      return all_of.empty() ? all_of : std::vector{all_of[i]};
    };
    ExpectedField one = reference(of_one(expected.value), of_one(expected.scale));
    one.offset = of_one(expected.offset);
    if (expected.compact != nullptr) {
      one.compact = std::shared_ptr<tessera::CompactElement const[]>(expected.compact, expected.compact.get() + i);
      one.shape = {1};
    }
    Verdict const verdict = verify(one, field<T>({actual[i]}), chain);
    if (alone.wrong == 0 && verdict.wrong > 0) alone.first_wrong = i;
    alone.wrong += verdict.wrong;
    if (verdict.worst > alone.worst) {
      alone.worst = verdict.worst;
      alone.worst_index = i;
    }
    alone.seen.merge(verdict.seen);
  }
  EXPECT_EQ(all.passed, alone.wrong == 0);
  EXPECT_EQ(all.wrong, alone.wrong);
  EXPECT_EQ(all.first_wrong, alone.first_wrong);
  EXPECT_EQ(all.worst_index, alone.worst_index);
  EXPECT_DOUBLE_EQ(all.worst, alone.worst);
  EXPECT_EQ(all.seen.count, alone.seen.count);
  EXPECT_EQ(all.seen.unchecked, alone.seen.unchecked);
  EXPECT_EQ(all.seen.finite, alone.seen.finite);
  EXPECT_EQ(all.seen.largest_bound, alone.seen.largest_bound);
  EXPECT_DOUBLE_EQ(all.seen.least_bound, alone.seen.least_bound);
  EXPECT_EQ(all.seen.largest, alone.seen.largest);
  EXPECT_NEAR(all.seen.squares / alone.seen.squares, 1, 1e-12);
  EXPECT_NEAR(all.seen.term_squares / alone.seen.term_squares, 1, 1e-12);
}

template <class T>
class Verify : public testing::Test {};
using AllDtypes = testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(Verify, AllDtypes);

TYPED_TEST(Verify, only_the_first_elements_are_compared_and_the_rest_must_be_untouched) {
  Sequence const sequence(9);
  auto values = sequence.right<TypeParam>();
  for (std::size_t i = 5; i < 9; ++i) values[i] = tessera::poison_value<TypeParam>;
  Verdict const verdict = verify(sequence.expected(), field(values), exact, 5);
  EXPECT_TRUE(verdict.passed) << verdict.message;
  EXPECT_EQ(verdict.seen.count, 5u);
  EXPECT_FALSE(verify(sequence.expected(), field(values), exact).passed);
  EXPECT_FALSE(verify(sequence.expected(), field(values), exact, 6).passed);  // poison differs from 6
  for (std::size_t const touched : {4, 5, 8}) {
    auto wrong = values;
    wrong[touched] = TypeParam(1);
    Verdict const caught = verify(sequence.expected(), field(wrong), exact, 5);
    EXPECT_FALSE(caught.passed);
    EXPECT_EQ(caught.wrong, 1u);
    EXPECT_EQ(caught.first_wrong, touched);
  }
  EXPECT_TRUE(
      verify_against_file(field(sequence.right<TypeParam>()), sequence.expected(), field(values), exact, 5).passed);
  EXPECT_FALSE(
      verify_against_file(field(sequence.right<TypeParam>()), sequence.expected(), field(values), exact, 6).passed);
}

// More elements than one thread takes at a time: the verdict must equal that of one loop.
TYPED_TEST(Verify, LargeFieldsAreComparedInBlocks) {
  std::size_t const block = std::size_t{1} << 18;
  std::size_t const count = 3 * block + 5;
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i % 1000);
  ExpectedField const expected = reference(values);
  std::vector<TypeParam> const right(values.begin(), values.end());
  EXPECT_TRUE(verify(expected, field(right), exact).passed);
  EXPECT_TRUE(same_bits(field(right), field(right)));
  std::vector<std::size_t> const places{0, block - 1, block, 2 * block + 17, 3 * block, count - 1};
  for (std::size_t first = 0; first < places.size(); ++first) {
    auto wrong = right;
    for (std::size_t p = first; p < places.size(); ++p) wrong[places[p]] += TypeParam(1 + p);
    Verdict const verdict = verify(expected, field(wrong), exact);
    EXPECT_FALSE(verdict.passed);
    EXPECT_EQ(verdict.seen.count, count);
    EXPECT_EQ(verdict.wrong, places.size() - first);
    EXPECT_EQ(verdict.first_wrong, places[first]);
    EXPECT_EQ(verdict.expected, values[places[first]]);
    EXPECT_EQ(verdict.actual, values[places[first]] + 1 + static_cast<double>(first));
    auto one = right;
    one[places[first]] += TypeParam(1);
    EXPECT_FALSE(same_bits(field(right), field(one)));
  }
  // Elements after the first block are only expected to be untouched.
  auto begun = right;
  std::fill(begun.begin() + static_cast<std::ptrdiff_t>(block), begun.end(), tessera::poison_value<TypeParam>);
  EXPECT_TRUE(verify(expected, field(begun), exact, block).passed);
  begun[2 * block + 17] = begun[count - 1] = TypeParam(1);
  Verdict const touched = verify(expected, field(begun), exact, block);
  EXPECT_EQ(touched.wrong, 2U);
  EXPECT_EQ(touched.first_wrong, 2 * block + 17);
}

// Values stored as floats give the same verdicts as values stored as doubles.
TYPED_TEST(Verify, NarrowValuesGiveTheSameVerdict) {
  std::size_t const count = (std::size_t{1} << 18) + 77;
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i);
  std::vector<TypeParam> right(values.begin(), values.end());
  for (double const scale : {0.0, 1e8}) {
    ExpectedField const wide = reference(values, std::vector<double>(count, scale));
    ExpectedField narrow = wide;
    make_narrow(narrow, tessera::dtype_of<TypeParam>);
    EXPECT_NE(narrow.narrow, nullptr);
    EXPECT_TRUE(narrow.value.empty());
    EXPECT_EQ(narrow.scale.empty(), scale == 0);
    for (TypeParam const added : {TypeParam(0), TypeParam(1), TypeParam(1000)}) {
      auto got = right;
      got[count - 3] += added;
      Verdict const by_wide = verify(wide, field(got), 1);
      Verdict const by_narrow = verify(narrow, field(got), 1);
      EXPECT_EQ(by_narrow.passed, by_wide.passed);
      EXPECT_EQ(by_narrow.message, by_wide.message);
      EXPECT_EQ(by_narrow.worst, by_wide.worst);
      EXPECT_EQ(by_narrow.passed, added == 0 || (scale > 0 && std::is_same_v<TypeParam, float> && added <= 1));
    }
  }
}

TEST(Narrow, ValuesThatAreNoFloatsStay) {
  std::size_t const count = (std::size_t{1} << 18) + 77;
  std::vector<double> values(count, 1.0);
  values[count - 2] = 1 + 0x1p-30;
  std::vector<double> scale(count, 0.0);
  ExpectedField of_double = reference(values, scale);
  make_narrow(of_double, tessera::DType::float64);
  EXPECT_EQ(of_double.value, values);
  EXPECT_TRUE(of_double.scale.empty());
  ExpectedField of_float = reference(values, scale);
  make_narrow(of_float, tessera::DType::float32);  // compared with the rounded value
  EXPECT_TRUE(of_float.value.empty());
  scale[0] = 1;
  ExpectedField bounded = reference(values, scale);
  make_narrow(bounded, tessera::DType::float32);
  EXPECT_EQ(bounded.value, values);
  EXPECT_EQ(bounded.scale, scale);
  ExpectedField counts = reference(std::vector{7.0}, {0.0});  // counts stay doubles: other code reads them
  make_narrow(counts, tessera::DType::int64);
  EXPECT_EQ(counts.value, std::vector{7.0});
}

TEST(Sample, HasTheEndsThePowersOfTwoAndAboutSoManyElements) {
  for (std::size_t const count : {0UL, 1UL, 31UL, 64UL, 65UL, 1000UL, (1UL << 20) + 3, (1UL << 32) + 5}) {
    for (std::size_t const elements : {1UL, 1000UL, 100000UL}) {
      std::vector<tessera::Stretch> const sample = tessera::sample_of(count, elements, 42);
      std::vector<std::size_t> wanted;
      if (count > 0) wanted = {0, count - 1};
      for (std::size_t power = 64; power < count; power *= 2) wanted.insert(wanted.end(), {power - 1, power});
      for (std::size_t const place : wanted) {
        EXPECT_TRUE(std::ranges::any_of(sample, [&](auto const& one) { return one.begin <= place && place < one.end; }))
            << place << " of " << count;
      }
      for (std::size_t i = 0; i < sample.size(); ++i) {
        EXPECT_LT(sample[i].begin, sample[i].end);
        EXPECT_LE(sample[i].end, count);
        if (i > 0) {
          EXPECT_GT(sample[i].begin, sample[i - 1].end);
        }
      }
      EXPECT_LE(count_of(sample), std::max(elements, std::size_t{40 * 64}) + 64);
      if (count > 10 * elements) {
        EXPECT_GE(count_of(sample), elements / 2);
      }
    }
  }
}

TEST(Sample, GathersValuesWithTheirBounds) {
  Sequence const sequence(200);
  std::vector<tessera::Stretch> const stretches{{0, 2}, {7, 8}, {198, 200}};
  ExpectedField expected = sequence.expected();
  expected.offset = expected.bfloat16_scale = expected.bfloat16_offset = sequence.values;
  expected.random_scale = expected.random_spread = sequence.values;
  ExpectedField const part = gather(expected, stretches);
  std::vector<double> const values{1, 2, 8, 199, 200};
  EXPECT_EQ(part.value, values);
  EXPECT_EQ(part.scale, values);
  EXPECT_EQ(part.offset, values);
  EXPECT_EQ(part.bfloat16_scale, values);
  EXPECT_EQ(part.bfloat16_offset, values);
  EXPECT_EQ(part.random_scale, values);
  EXPECT_EQ(part.random_spread, values);
  EXPECT_EQ(part.shape, Shape{5});
  auto result = sequence.right<float>();
  EXPECT_TRUE(verify(part, gather(field(result), stretches), exact).passed);
  result[7] = -1;
  EXPECT_FALSE(verify(part, gather(field(result), stretches), 0).passed);
}

template <class T>
class VerifyFloat : public testing::Test {
 protected:
  static constexpr double u = tessera::unit_roundoff(tessera::dtype_of<T>);
};
using FloatDtypes = testing::Types<float, double>;
TYPED_TEST_SUITE(VerifyFloat, FloatDtypes);

TYPED_TEST(VerifyFloat, TheWorstErrorOfAllBlocksIsReported) {
  std::size_t const block = std::size_t{1} << 18;
  std::vector<double> const ones(2 * block + 1, 1.0);
  for (std::size_t const worst : {std::size_t{3}, block + 3, 2 * block}) {
    std::vector<TypeParam> values(ones.begin(), ones.end());
    for (std::size_t const i : {std::size_t{1}, block + 1, 2 * block - 1}) values[i] = next(values[i]);
    values[worst] = next(next(values[worst]));
    Verdict const verdict = verify(reference(ones, ones), field(values), 8);
    EXPECT_TRUE(verdict.passed);
    EXPECT_EQ(verdict.worst_index, worst);
    EXPECT_EQ(verdict.worst, verify(reference(1, 1), field<TypeParam>({values[worst]}), 8).worst);
  }
}

// ------------------------------------------------------------------------------------- any dtype: right and wrong

TYPED_TEST(Verify, TheRightAnswerPasses) {
  Sequence const sequence(1000);
  for (double const steps : {0.0, 1.0, 50.0}) {
    for (ExpectedField const& expected : {sequence.expected(), reference(sequence.values)}) {
      Verdict const verdict = verify(expected, field(sequence.right<TypeParam>()), steps);
      EXPECT_TRUE(verdict.passed);
      EXPECT_EQ(verdict.seen.count, 1000U);
      EXPECT_EQ(verdict.wrong, 0U);
      EXPECT_EQ(verdict.seen.unchecked, 0U);
      EXPECT_EQ(verdict.worst, 0.0);
      EXPECT_EQ(verdict.message, "");
    }
  }
}

TYPED_TEST(Verify, OneWrongElementIsFoundWhereverItIs) {
  Sequence const sequence(1001);
  for (double const steps : {0.0, 20.0}) {
    for (std::size_t const at : {0U, 1U, 500U, 999U, 1000U}) {
      auto values = sequence.right<TypeParam>();
      values[at] = static_cast<TypeParam>(values[at] + 1);
      for (Verdict const& verdict :
           {verify(sequence.expected(), field(values), steps),
            verify_against_file(field(sequence.right<TypeParam>()), sequence.expected(), field(values), steps)}) {
        EXPECT_FALSE(verdict.passed);
        EXPECT_EQ(verdict.wrong, 1U);
        EXPECT_EQ(verdict.first_wrong, at);
        EXPECT_EQ(verdict.worst_index, at);
        EXPECT_GT(verdict.worst, 1.0);
        EXPECT_EQ(verdict.expected, static_cast<double>(at) + 1);
        EXPECT_EQ(verdict.actual, static_cast<double>(at) + 2);
        EXPECT_NE(verdict.message.find("out: 1 of 1001 elements are wrong; first at " + tessera::to_string(Shape{at})),
                  std::string::npos)
            << verdict.message;
      }
    }
  }
}

TYPED_TEST(Verify, SwappedElementsAreTwoWrongOnes) {
  Sequence const sequence(64);
  auto values = sequence.right<TypeParam>();
  std::swap(values[20], values[43]);
  Verdict const verdict = verify(sequence.expected(), field(values), 10);
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.wrong, 2U);
  EXPECT_EQ(verdict.first_wrong, 20U);
}

TYPED_TEST(Verify, AnUnwrittenOutputIsWrongEverywhere) {
  Sequence const sequence(100);
  TypeParam const poison = std::is_integral_v<TypeParam> ? std::numeric_limits<TypeParam>::lowest()
                                                         : std::numeric_limits<TypeParam>::quiet_NaN();
  Verdict const verdict = verify(sequence.expected(), field(std::vector<TypeParam>(100, poison)), 10);
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.wrong, 100U);
  EXPECT_EQ(verdict.first_wrong, 0U);
  EXPECT_EQ(verdict.worst, infinity);
  EXPECT_EQ(verdict.worst_index, 0U);
}

TYPED_TEST(Verify, OnlyTheTailUnwritten) {
  Sequence const sequence(100);
  auto values = sequence.right<TypeParam>();
  for (std::size_t i = 96; i < 100; ++i) values[i] = TypeParam{0};
  Verdict const verdict = verify(sequence.expected(), field(values), 10);
  EXPECT_EQ(verdict.wrong, 4U);
  EXPECT_EQ(verdict.first_wrong, 96U);
}

TYPED_TEST(Verify, NothingToCompareIsRight) {
  for (Shape const& shape : {Shape{0}, Shape{0, 7}, Shape{3, 0}}) {
    ExpectedField const expected{"out", shape, {}, {}};
    HostField const actual{"out", tessera::dtype_of<TypeParam>, shape, nullptr};
    Verdict const verdict = verify(expected, actual, 10);
    EXPECT_TRUE(verdict.passed);
    EXPECT_EQ(verdict.seen.count, 0U);
    EXPECT_TRUE(verify_against_file(actual, expected, actual, 10).passed);
  }
}

TYPED_TEST(Verify, AScalar) {
  ExpectedField const expected{"out", {}, {140}, {140}};
  EXPECT_TRUE(verify(expected, field<TypeParam>({140}, {}), 8).passed);
  EXPECT_FALSE(verify(expected, field<TypeParam>({141}, {}), 8).passed);
}

TYPED_TEST(Verify, NameShapeAndSizeMustAgree) {
  ExpectedField const expected{"out", {2, 3}, std::vector<double>(6), {}};
  std::vector<TypeParam> const zeros(6);
  EXPECT_TRUE(verify(expected, field(zeros, {2, 3}), exact).passed);

  auto const message_of = [&](ExpectedField const& wanted, HostField const& actual) {
    Verdict const verdict = verify(wanted, actual, exact);
    EXPECT_FALSE(verdict.passed);
    return verdict.message;
  };
  EXPECT_EQ(message_of(expected, field(zeros, {3, 2})), "out: expected shape [2, 3], got [3, 2]");
  EXPECT_EQ(message_of(expected, field(zeros)), "out: expected shape [2, 3], got [6]");
  HostField renamed = field(zeros, {2, 3});
  renamed.name = "other";
  EXPECT_EQ(message_of(expected, renamed), "expected a field out, got other");
  EXPECT_EQ(message_of(expected, {"out", tessera::dtype_of<TypeParam>, {2, 3}, nullptr}), "out: there is no data");
  EXPECT_NE(message_of({"out", {2, 3}, std::vector<double>(5), {}}, field(zeros, {2, 3})), "");
  EXPECT_NE(message_of({"out", {2, 3}, std::vector<double>(6), std::vector<double>(5)}, field(zeros, {2, 3})), "");
}

TYPED_TEST(Verify, FilesMustAgreeInNameShapeAndDtypeToo) {
  std::vector<TypeParam> const zeros(6);
  HostField const file = field(zeros, {2, 3});
  ExpectedField const scale{"out", {2, 3}, std::vector<double>(6), {}};
  EXPECT_TRUE(verify_against_file(file, scale, field(zeros, {2, 3}), exact).passed);
  EXPECT_EQ(verify_against_file(file, scale, field(zeros), exact).message,
            "/expected: out: expected shape [2, 3], got [6]");
  using Other = std::conditional_t<std::is_same_v<TypeParam, float>, std::int32_t, float>;
  Verdict const verdict = verify_against_file(file, scale, field(std::vector<Other>(6), {2, 3}), exact);
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(verdict.message.find(tessera::name_of(tessera::dtype_of<Other>)), std::string::npos) << verdict.message;
  ExpectedField const short_scale{"out", {2, 3}, {}, std::vector<double>(5)};
  EXPECT_FALSE(verify_against_file(file, short_scale, field(zeros, {2, 3}), exact).passed);
  HostField const no_data{"out", tessera::dtype_of<TypeParam>, {2, 3}, nullptr};
  EXPECT_FALSE(verify_against_file(no_data, scale, field(zeros, {2, 3}), exact).passed);
}

TYPED_TEST(Verify, UncheckedElementsAreCountedAndNotJudged) {
  auto const expected = reference({1, 2, 3, 4}, {1, infinity, infinity, 4});
  Verdict verdict = verify(expected, field<TypeParam>({1, 7, 8, 4}), 2);
  EXPECT_TRUE(verdict.passed);
  EXPECT_EQ(verdict.seen.count, 4U);
  EXPECT_EQ(verdict.seen.unchecked, 2U);
  EXPECT_EQ(verdict.worst, 0.0);

  verdict = verify(expected, field<TypeParam>({1, 7, 8, 5}), 2);
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.wrong, 1U);
  EXPECT_EQ(verdict.first_wrong, 3U);
  EXPECT_EQ(verdict.seen.unchecked, 2U);

  EXPECT_EQ(verify(expected, field<TypeParam>({1, 7, 8, 4}), exact).seen.unchecked, 2U);
}

// A lost tile may hide if at least as many elements are unchecked as a tile has, in a small field half of the elements.
TYPED_TEST(Verify, ALostTileMayHideAmongUncheckedElements) {
  auto const weak = [](std::size_t count, std::size_t unchecked, std::size_t stride = 1) {
    ExpectedField expected = reference(std::vector<double>(count, 3), std::vector<double>(count, 3));
    for (std::size_t i = 0; i < unchecked; ++i) expected.scale[count - 1 - i * stride] = infinity;
    Verdict const verdict = verify(expected, field(std::vector<TypeParam>(count, 3)), 2);
    EXPECT_TRUE(verdict.passed);
    EXPECT_EQ(verdict.seen.count, count);
    EXPECT_EQ(verdict.seen.unchecked, unchecked);
    EXPECT_EQ(verdict.seen.blind, unchecked == count && count > 0);
    return weakness_of(verdict.seen, expected, 3);
  };
  EXPECT_EQ(weak(0, 0), "");
  EXPECT_NE(weak(1, 1), "");
  EXPECT_EQ(weak(8, 1), "");
  EXPECT_EQ(weak(8, 3), "");
  EXPECT_NE(weak(8, 4), "");
  EXPECT_NE(weak(8, 7), "");
  EXPECT_EQ(weak(4096, 255), "");
  EXPECT_NE(weak(4096, 256), "");
  EXPECT_NE(weak(4096, 256, 16), "");  // a column of a matrix is a tile, too
  EXPECT_TRUE(weak(4096, 4032).starts_with("out: 4032 of 4096 elements were not checked, which could"));
  EXPECT_NE(weak(300, 150), "");
}

// Elements that must be NaN or infinite are checked, so that a lost tile cannot hide among them.
TYPED_TEST(VerifyFloat, ElementsThatMustBeNoNumbersAreChecked) {
  using Limits = std::numeric_limits<TypeParam>;
  auto const expected = reference({not_a_number, infinity, -infinity, not_a_number}, {1, 1, 1, 0});
  std::vector<TypeParam> const right{Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()};
  Verdict const verdict = verify(expected, field(right), 2);
  EXPECT_TRUE(verdict.passed);
  EXPECT_EQ(verdict.seen.unchecked, 0U);
  EXPECT_EQ(weakness_of(verdict.seen, expected, 1e9), "");
  EXPECT_EQ(verdict.seen.sensitivity(), 0);
}

// For a field that ranks share, a single rank's part may be insufficient for a verdict.
TEST(Coverage, of_ranks_is_judged_together) {
  auto const seen = [](std::vector<double> const& values, std::vector<double> const& offset) {
    ExpectedField expected = reference(values);
    expected.offset = offset;
    std::vector<float> const right(values.begin(), values.end());
    return verify(expected, field(right), 1).seen;
  };
  // Like the softmax of 1e30 and -1e30: one rank has only zeros.
  tessera::Coverage zeros = seen({0, 0}, {1e-44, 1e-44});
  tessera::Coverage const halves = seen({0.5, 0.5}, {0, 0});
  ExpectedField const y = reference({});
  EXPECT_NE(weakness_of(zeros, y, 4), "");
  zeros.merge(halves);
  EXPECT_EQ(weakness_of(zeros, y, 4), "");
  EXPECT_EQ(zeros.count, 4U);
  // But a rank whose elements are all unchecked could have lost its part.
  tessera::Coverage most = seen({1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0});
  most.merge(seen({1}, {infinity}));
  EXPECT_NE(weakness_of(most, y, 1), "");
  most = seen({1, 1, 1, 1, 1, 1, 1}, {0, 0, 0, infinity, 0, 0, 0});
  EXPECT_EQ(weakness_of(most, y, 1), "");
}

TYPED_TEST(Verify, TheMessageNamesRowsAndColumns) {
  std::vector<double> const values(6, 5);
  ExpectedField const expected{"out", {2, 3}, values, {}};
  std::vector<TypeParam> actual(6, 5);
  actual[5] = 9;
  EXPECT_EQ(verify(expected, field(actual, {2, 3}), exact).message,
            "out: 1 of 6 elements are wrong; first at [5] = [1, 2]: expected 5, got 9; worst error inf times its bound "
            "at [5] = [1, 2]");
}

// ---------------------------------------------------------------------------------------------- floating point

TYPED_TEST(VerifyFloat, JustInsideAndJustOutsideTheBound) {
  // At 1.5 with a scale of 1000 and 16 steps the bound is about 16000 u, a few thousand ulps of 2u.
  double const steps = 16;
  double const scale = 1000;
  double const bound =
      std::expm1(steps * this->u) * scale + steps * double{std::numeric_limits<TypeParam>::denorm_min()} + this->u;
  auto const ulps = std::floor(bound / (2 * this->u));
  for (double const sign : {1.0, -1.0}) {
    auto const inside = static_cast<TypeParam>(1.5 + sign * ulps * 2 * this->u);
    auto const outside = static_cast<TypeParam>(1.5 + sign * (ulps + 1) * 2 * this->u);
    EXPECT_TRUE(passes<TypeParam>(1.5, scale, inside, steps));
    EXPECT_FALSE(passes<TypeParam>(1.5, scale, outside, steps));
  }
}

TYPED_TEST(VerifyFloat, AnOffsetAddsToTheBoundWhateverTheSteps) {
  double const offset = 1000 * this->u;
  ExpectedField expected{"out", {2}, {1.5, 1.5}, {}, {offset, 0}};
  auto const off_by = [&](double error) { return static_cast<TypeParam>(1.5 + error); };
  auto const exactly = static_cast<TypeParam>(1.5);
  for (double const steps : {0.0, 16.0}) {
    EXPECT_TRUE(verify(expected, field<TypeParam>({off_by(offset), exactly}), steps).passed);
    EXPECT_TRUE(verify(expected, field<TypeParam>({off_by(-offset), exactly}), steps).passed);
    EXPECT_FALSE(verify(expected, field<TypeParam>({off_by(offset + 4 * this->u), exactly}), steps).passed);
    // An element without a scale is exact.
    EXPECT_FALSE(verify(expected, field<TypeParam>({exactly, off_by(2 * this->u)}), steps).passed);
  }
  auto const file = field<TypeParam>({exactly, exactly});
  EXPECT_TRUE(verify_against_file(file, expected, field<TypeParam>({off_by(offset), exactly}), 0).passed);
  EXPECT_FALSE(
      verify_against_file(file, expected, field<TypeParam>({off_by(offset + 4 * this->u), exactly}), 0).passed);

  expected.offset = {infinity, 0};
  EXPECT_EQ(verify(expected, field<TypeParam>({7, exactly}), 0).seen.unchecked, 1U);
  expected.offset = {std::nan(""), 0};
  EXPECT_FALSE(verify(expected, field<TypeParam>({exactly, exactly}), 1).passed);
  expected.offset = {offset};
  EXPECT_FALSE(verify(expected, file, 0).passed);
}

TYPED_TEST(VerifyFloat, AnErrorEqualToTheBoundPasses) {
  // The expected value lies exactly between two numbers, and only half an ulp is allowed. The scale is the smallest
  // number, so that the comparison is not exact; its contribution underflows or is lost in the sum.
  double const steps = std::is_same_v<TypeParam, float> ? 1e-30 : 1e-300;
  double const tiny = std::numeric_limits<double>::denorm_min();
  if constexpr (std::is_same_v<TypeParam, float>) {
    double const between = 1.0 + 0x1p-24;
    ASSERT_GT(std::expm1(steps * this->u), 0.0);
    EXPECT_TRUE(passes<float>(between, tiny, 1.0F, steps));
    EXPECT_TRUE(passes<float>(between, tiny, next(1.0F), steps));
    EXPECT_FALSE(passes<float>(between, tiny, previous(1.0F), steps));
    EXPECT_FALSE(passes<float>(between, tiny, next(next(1.0F)), steps));
  } else {
    // No double lies between two neighbours; against a file two half ulps are allowed, so the neighbours are on the
    // edge.
    EXPECT_TRUE(passes_against_file<double>(1.5, tiny, next(1.5), steps));
    EXPECT_TRUE(passes_against_file<double>(1.5, tiny, previous(1.5), steps));
    EXPECT_FALSE(passes_against_file<double>(1.5, tiny, next(next(1.5)), steps));
  }
}

TYPED_TEST(VerifyFloat, TheBoundGrowsWithTheSteps) {
  TypeParam actual = 1;
  for (int i = 0; i < 40; ++i) actual = next(actual);  // 80 u away
  EXPECT_FALSE(passes<TypeParam>(1, 1, actual, 70));
  EXPECT_TRUE(passes<TypeParam>(1, 1, actual, 80));
  EXPECT_FALSE(passes<TypeParam>(1, 10, actual, 7));
  EXPECT_TRUE(passes<TypeParam>(1, 10, actual, 8));
}

TYPED_TEST(VerifyFloat, ManyStepsGrowLikeACompoundRate) {
  // steps * u = 1: the bound is e - 1, not 1. Another reason for a wide reference.
  double const steps = 1 / this->u;
  EXPECT_TRUE(passes<TypeParam>(1, 1, TypeParam(2.7), steps));
  EXPECT_FALSE(passes<TypeParam>(1, 1, TypeParam(2.8), steps));
}

TYPED_TEST(VerifyFloat, WorstIsTheLargestErrorInUnitsOfItsBound) {
  // Errors of 1, 3 and 2 ulps with the same bound; all pass.
  std::vector<TypeParam> const values{next(TypeParam{1}), next(next(next(TypeParam{1}))), next(next(TypeParam{1}))};
  Verdict const verdict = verify(reference({1, 1, 1}, {1, 1, 1}), field(values), 10);
  EXPECT_TRUE(verdict.passed);
  EXPECT_EQ(verdict.worst_index, 1U);
  EXPECT_NEAR(verdict.worst, 6.0 / 11.0, 0.01);  // 3 ulps = 6 u; 10 u and half an ulp

  // A small error with a tiny bound counts more than a large error with a large bound.
  std::vector<TypeParam> const other{TypeParam(100.25), next(next(next(next(TypeParam{1}))))};
  Verdict const second = verify(reference({100, 1}, {1 / this->u, 1}), field(other), 1);
  EXPECT_EQ(second.worst_index, 1U);
  EXPECT_EQ(second.first_wrong, 1U);
  EXPECT_NEAR(second.worst, 4.0, 0.01);  // 8 u of 2 u
}

TYPED_TEST(VerifyFloat, TheValueItselfNeedNotBeRepresentable) {
  if (std::is_same_v<TypeParam, double>) GTEST_SKIP() << "the reference is no wider than double";
  double const third = 1.0 / 3.0;
  EXPECT_TRUE(passes<TypeParam>(third, 0, TypeParam(third), exact));
  EXPECT_FALSE(passes<TypeParam>(third, 0, next(TypeParam(third)), exact));
  EXPECT_TRUE(passes<TypeParam>(third, third, TypeParam(third), 1));
  EXPECT_FALSE(passes<TypeParam>(third, third, next(next(next(TypeParam(third)))), 1));
}

TYPED_TEST(VerifyFloat, AScaleOfZeroAsksForEquality) {
  for (double const steps : {0.0, 1.0, 1e6}) {
    EXPECT_TRUE(passes<TypeParam>(1.5, 0, TypeParam(1.5), steps));
    EXPECT_FALSE(passes<TypeParam>(1.5, 0, next(TypeParam(1.5)), steps));
    EXPECT_FALSE(passes<TypeParam>(1.5, 0, previous(TypeParam(1.5)), steps));
    EXPECT_FALSE(passes<TypeParam>(0, 0, std::numeric_limits<TypeParam>::denorm_min(), steps));
    EXPECT_FALSE(passes_against_file<TypeParam>(TypeParam(1.5), 0, next(TypeParam(1.5)), steps));
  }
  Verdict const verdict = verify(reference({1, 2, 3}, {0, 0, 0}), field<TypeParam>({1, next(TypeParam{2}), 3}), 1e6);
  EXPECT_EQ(verdict.wrong, 1U);
  EXPECT_EQ(verdict.first_wrong, 1U);
  EXPECT_EQ(verdict.worst, infinity);
}

TYPED_TEST(VerifyFloat, AnEmptyScaleAsksForEquality) {
  EXPECT_TRUE(verify(reference({1.5}), field<TypeParam>({1.5}), 1e6).passed);
  EXPECT_FALSE(verify(reference({1.5}), field<TypeParam>({next(TypeParam(1.5))}), 1e6).passed);
}

TYPED_TEST(VerifyFloat, NoRoundingStepsAskForEquality) {
  EXPECT_TRUE(passes<TypeParam>(1.5, 1e6, TypeParam(1.5), exact));
  EXPECT_FALSE(passes<TypeParam>(1.5, 1e6, next(TypeParam(1.5)), exact));
  EXPECT_FALSE(passes_against_file<TypeParam>(TypeParam(1.5), 1e6, next(TypeParam(1.5)), exact));
  // Halfway between two floats, rounding to even takes the lower one.
  EXPECT_TRUE(passes<float>(1 + 0x1p-24, 1e6, 1.0F, exact));
  EXPECT_FALSE(passes<float>(1 + 0x1p-24, 1e6, next(1.0F), exact));
}

TYPED_TEST(VerifyFloat, NegativeZeroEqualsZero) {
  EXPECT_TRUE(passes<TypeParam>(0.0, 0, TypeParam(-0.0), exact));
  EXPECT_TRUE(passes<TypeParam>(-0.0, 0, TypeParam(0.0), exact));
  EXPECT_TRUE(passes<TypeParam>(-0.0, 1, TypeParam(0.0), 5));
  EXPECT_TRUE(passes_against_file<TypeParam>(TypeParam(-0.0), 0, TypeParam(0.0), exact));
}

TYPED_TEST(VerifyFloat, NanNeedsNan) {
  auto const nan = std::numeric_limits<TypeParam>::quiet_NaN();
  auto const inf = std::numeric_limits<TypeParam>::infinity();
  for (double const scale : {0.0, 1.0, not_a_number}) {
    for (double const steps : {0.0, 10.0}) {
      EXPECT_TRUE(passes<TypeParam>(not_a_number, scale, nan, steps));
      EXPECT_FALSE(passes<TypeParam>(not_a_number, scale, TypeParam{0}, steps));
      EXPECT_FALSE(passes<TypeParam>(not_a_number, scale, inf, steps));
      EXPECT_TRUE(passes_against_file<TypeParam>(nan, scale, -nan, steps));
      EXPECT_FALSE(passes_against_file<TypeParam>(nan, scale, TypeParam{1}, steps));
      EXPECT_FALSE(passes<TypeParam>(0.0, scale, nan, steps));
      EXPECT_FALSE(passes_against_file<TypeParam>(TypeParam{1}, scale, nan, steps));
    }
  }
  // An invalid reference must not make every result right.
  EXPECT_FALSE(passes<TypeParam>(1.0, not_a_number, TypeParam{1}, 10));
  EXPECT_FALSE(passes<TypeParam>(1.0, 1.0, TypeParam{1}, not_a_number));
}

TYPED_TEST(VerifyFloat, OneNanAmongRightElements) {
  Sequence const sequence(1000);
  for (std::size_t const at : {0U, 321U, 999U}) {
    auto values = sequence.right<TypeParam>();
    values[at] = std::numeric_limits<TypeParam>::quiet_NaN();
    for (double const steps : {0.0, 1e4}) {
      Verdict const verdict = verify(sequence.expected(), field(values), steps);
      EXPECT_FALSE(verdict.passed);
      EXPECT_EQ(verdict.wrong, 1U);
      EXPECT_EQ(verdict.first_wrong, at);
      EXPECT_TRUE(std::isnan(verdict.actual));
      EXPECT_EQ(verdict.worst, infinity);
      EXPECT_EQ(verdict.worst_index, at);
      EXPECT_NE(verdict.message.find("nan"), std::string::npos) << verdict.message;
    }
  }
}

TYPED_TEST(VerifyFloat, InfinityNeedsTheSameInfinity) {
  auto const inf = std::numeric_limits<TypeParam>::infinity();
  auto const max = std::numeric_limits<TypeParam>::max();
  for (double const scale : {0.0, 1.0}) {
    for (double const steps : {0.0, 10.0}) {
      EXPECT_TRUE(passes<TypeParam>(infinity, scale, inf, steps));
      EXPECT_TRUE(passes<TypeParam>(-infinity, scale, -inf, steps));
      EXPECT_TRUE(passes_against_file<TypeParam>(inf, scale, inf, steps));
      for (TypeParam const wrong : {-inf, max, TypeParam{0}, std::numeric_limits<TypeParam>::quiet_NaN()}) {
        EXPECT_FALSE(passes<TypeParam>(infinity, scale, wrong, steps));
        EXPECT_FALSE(passes_against_file<TypeParam>(inf, scale, wrong, steps));
      }
      for (TypeParam const wrong : {inf, -inf}) {
        EXPECT_FALSE(passes<TypeParam>(1.0, scale, wrong, steps));
        EXPECT_FALSE(passes_against_file<TypeParam>(TypeParam{1}, scale, wrong, steps));
      }
    }
  }
}

TYPED_TEST(VerifyFloat, AtTheEdgeOfOverflowBothSidesAreRight) {
  auto const inf = std::numeric_limits<TypeParam>::infinity();
  TypeParam const max = std::numeric_limits<TypeParam>::max();
  double const wide_max = double{max};
  for (double const sign : {1.0, -1.0}) {
    auto const s = static_cast<TypeParam>(sign);
    // Within the bound of the largest number both are right.
    EXPECT_TRUE(passes<TypeParam>(sign * wide_max, wide_max, s * max, 4));
    EXPECT_TRUE(passes<TypeParam>(sign * wide_max, wide_max, s * inf, 4));
    EXPECT_TRUE(passes_against_file<TypeParam>(s * max, wide_max, s * inf, 4));
    // The other infinity is always wrong.
    EXPECT_FALSE(passes<TypeParam>(sign * wide_max, wide_max, -s * inf, 4));
    // Far below, or if the result is exact: only the number is right.
    EXPECT_FALSE(passes<TypeParam>(sign * wide_max / 2, wide_max / 2, s * inf, 4));
    EXPECT_FALSE(passes<TypeParam>(sign * wide_max * (1 - 16 * this->u), wide_max, s * inf, 4));
    EXPECT_FALSE(passes<TypeParam>(sign * wide_max, wide_max, s * inf, exact));
    EXPECT_FALSE(passes<TypeParam>(sign * wide_max, 0, s * inf, 4));
  }
}

TEST(VerifyOverflow, AWideValueBeyondFloatExpectsInfinity) {
  float const inf = std::numeric_limits<float>::infinity();
  float const max = std::numeric_limits<float>::max();
  double const threshold = 0x1p128 - 0x1p103;  // the first number that rounds to infinity: max + half an ulp
  // Far beyond: only infinity is right.
  EXPECT_TRUE(passes<float>(1e300, 1e300, inf, 4));
  EXPECT_FALSE(passes<float>(1e300, 1e300, max, 4));
  EXPECT_FALSE(passes<float>(1e300, 1e300, -inf, 4));
  EXPECT_TRUE(passes<float>(-1e300, 1e300, -inf, 4));
  EXPECT_TRUE(passes<float>(1e300, 0, inf, exact));
  EXPECT_FALSE(passes<float>(1e300, 0, max, exact));
  // Exactly at the threshold.
  EXPECT_TRUE(passes<float>(threshold, 0, inf, exact));
  EXPECT_FALSE(passes<float>(threshold, 0, max, exact));
  EXPECT_TRUE(passes<float>(std::nextafter(threshold, 0.0), 0, max, exact));
  EXPECT_FALSE(passes<float>(std::nextafter(threshold, 0.0), 0, inf, exact));
  // Beyond it by less than the bound (4 u of 2^128, which is 4 ulps) both are right; by more only infinity.
  double const ulp = 0x1p104;
  EXPECT_TRUE(passes<float>(threshold + 3 * ulp, 0x1p128, inf, 4));
  EXPECT_TRUE(passes<float>(threshold + 3 * ulp, 0x1p128, max, 4));
  EXPECT_TRUE(passes<float>(threshold + 3.75 * ulp, 0x1p128, max, 4));
  EXPECT_FALSE(passes<float>(threshold + 4.25 * ulp, 0x1p128, max, 4));  // ulps do not grow further
  EXPECT_TRUE(passes<float>(threshold + 5 * ulp, 0x1p128, inf, 4));
  // Below it by less than the bound both are right; by more only a number.
  EXPECT_TRUE(passes<float>(threshold - 3 * ulp, 0x1p128, inf, 4));
  EXPECT_TRUE(passes<float>(threshold - 3.75 * ulp, 0x1p128, inf, 4));
  EXPECT_FALSE(passes<float>(threshold - 4.25 * ulp, 0x1p128, inf, 4));
  // The file holds infinity if a wider value does not fit.
  EXPECT_TRUE(passes_against_file<float>(inf, 1e300, inf, 4));
}

TYPED_TEST(VerifyFloat, DenormalsAreAllowedTheSmallestOneAStep) {
  TypeParam const tiny = std::numeric_limits<TypeParam>::denorm_min();
  double const wide = double{tiny};
  EXPECT_TRUE(passes<TypeParam>(5 * wide, 5 * wide, 7 * tiny, 2));
  EXPECT_TRUE(passes<TypeParam>(5 * wide, 5 * wide, 3 * tiny, 2));
  EXPECT_FALSE(passes<TypeParam>(5 * wide, 5 * wide, 8 * tiny, 2));
  EXPECT_FALSE(passes<TypeParam>(5 * wide, 5 * wide, 2 * tiny, 2));
  EXPECT_FALSE(passes<TypeParam>(5 * wide, 5 * wide, TypeParam{0}, 2));  // flushed to zero
  EXPECT_TRUE(passes<TypeParam>(5 * wide, 0, 5 * tiny, exact));
  EXPECT_FALSE(passes<TypeParam>(5 * wide, 0, 6 * tiny, exact));
  EXPECT_TRUE(passes<TypeParam>(0.0, wide, tiny, 1));
  EXPECT_FALSE(passes<TypeParam>(0.0, wide, 2 * tiny, 1));
}

TEST(VerifyDenormals, AWideValueBetweenTwoOfFloat) {
  double const tiny = 0x1p-149;
  EXPECT_TRUE(passes<float>(2.5 * tiny, tiny, float(3 * tiny), 1e-3));
  EXPECT_TRUE(passes<float>(2.5 * tiny, tiny, float(2 * tiny), 1e-3));
  EXPECT_FALSE(passes<float>(2.5 * tiny, tiny, float(4 * tiny), 1e-3));
  EXPECT_TRUE(passes<float>(0x1p-200, 0, 0.0F, exact));
}

TYPED_TEST(VerifyFloat, ValuesFromAFileWereRoundedOnceMore) {
  // One step at a scale of 1 allows 1 u; half an ulp of 1.5 is 1 u. An ulp is 2 u.
  TypeParam const one_away = next(TypeParam(1.5));
  TypeParam const two_away = next(one_away);
  EXPECT_TRUE(passes<TypeParam>(1.5, 1, one_away, 1));
  EXPECT_FALSE(passes<TypeParam>(1.5, 1, two_away, 1));
  EXPECT_FALSE(passes<TypeParam>(1.5, 1, two_away, 2));                         // 2 u + 1 u < 4 u
  EXPECT_TRUE(passes_against_file<TypeParam>(TypeParam(1.5), 1, two_away, 2));  // 2 u + 2 u
  EXPECT_FALSE(passes_against_file<TypeParam>(TypeParam(1.5), 1, next(two_away), 2));
}

TEST(VerifyMessages, ValuesHaveEnoughDigitsToTellThemApart) {
  Verdict verdict = verify(reference(1.0, 0), field<float>({next(1.0F)}), exact);
  EXPECT_NE(verdict.message.find("expected 1, got 1.00000012;"), std::string::npos) << verdict.message;
  verdict = verify(reference(1.0, 0), field<double>({next(1.0)}), exact);
  EXPECT_NE(verdict.message.find("expected 1, got 1.0000000000000002;"), std::string::npos) << verdict.message;
  verdict = verify(reference(2147483647.0, 0), field<std::int32_t>({-2147483647 - 1}), exact);
  EXPECT_NE(verdict.message.find("expected 2147483647, got -2147483648;"), std::string::npos) << verdict.message;
  verdict = verify_against_file(field<float>({1}), reference(1.0, 0), field<float>({2}), exact);
  EXPECT_NE(verdict.message.find("from the file"), std::string::npos) << verdict.message;
}

TEST(VerifyDtypes, FloatAndDoubleHaveDifferentBounds) {
  // 1 + 2^-24 is one rounding of float away from 1, and very wrong in double.
  EXPECT_TRUE(passes<float>(1.0 + 0x1p-24, 1, 1.0F, 1));
  EXPECT_FALSE(passes<double>(1.0 + 0x1p-24, 1, 1.0, 1));
  EXPECT_FALSE(passes<double>(1.0 + 0x1p-24, 1, 1.0, 1000));
}

// ------------------------------------------------------------------------------------------------------- int32

TEST(VerifyInt32, IsExactBeyondWhatFloatHolds) {
  std::int32_t const value = (1 << 24) + 1;
  EXPECT_TRUE(passes<std::int32_t>(value, 0, value, exact));
  EXPECT_FALSE(passes<std::int32_t>(value, 0, value - 1, exact));
  std::int32_t const max = std::numeric_limits<std::int32_t>::max();
  std::int32_t const min = std::numeric_limits<std::int32_t>::min();
  EXPECT_TRUE(passes<std::int32_t>(max, 0, max, exact));
  EXPECT_FALSE(passes<std::int32_t>(max, 0, max - 1, exact));
  EXPECT_TRUE(passes<std::int32_t>(min, 0, min, exact));
  EXPECT_FALSE(passes<std::int32_t>(max, 0, min, exact));
}

TEST(VerifyInt32, ScaleAndStepsAllowNothing) {
  EXPECT_FALSE(passes<std::int32_t>(1000, 1e9, 1001, 1e9));
  EXPECT_FALSE(passes_against_file<std::int32_t>(1000, 1e9, 1001, 1e9));
  EXPECT_TRUE(passes_against_file<std::int32_t>(1000, 1e9, 1000, 1e9));
}

TEST(VerifyInt64, AnOffsetIsAllowed) {
  ExpectedField expected = reference(std::vector<double>{1e12, 5});
  expected.offset = {3, 0};
  auto const actual = [](std::int64_t first, std::int64_t second) { return field<std::int64_t>({first, second}); };
  std::int64_t const value = 1000000000000;
  EXPECT_TRUE(verify(expected, actual(value + 3, 5), exact).passed);
  EXPECT_TRUE(verify(expected, actual(value - 3, 5), 100).passed);
  EXPECT_FALSE(verify(expected, actual(value + 4, 5), 100).passed);
  EXPECT_FALSE(verify(expected, actual(value, 6), 100).passed);
  EXPECT_EQ(verify(expected, actual(value, 5), exact).seen.largest_bound, 3);
}

TEST(VerifyInt32, AReferenceThatIsNoInt32IsNeverRight) {
  for (double const value : {0.5, 2147483648.0, -2147483649.0, infinity, -infinity, not_a_number}) {
    for (std::int32_t const actual :
         {0, 1, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()}) {
      EXPECT_FALSE(passes<std::int32_t>(value, 0, actual, exact)) << value << " " << actual;
    }
  }
}

TEST(VerifyInt64, CountsBeyondInt32AreExact) {
  std::int64_t const value = (std::int64_t{1} << 40) + 1;
  EXPECT_TRUE(passes<std::int64_t>(value, 0, value, exact));
  EXPECT_FALSE(passes<std::int64_t>(value, 0, value - 1, exact));
  EXPECT_FALSE(passes<std::int64_t>(value, 0, value & 0xffffffff, exact));
  EXPECT_FALSE(passes<std::int64_t>(0, 0, std::numeric_limits<std::int64_t>::min(), exact));
  EXPECT_FALSE(passes<std::int64_t>(not_a_number, 0, 0, exact));
}

// A double would take 2^53 for 2^53 + 1.
TEST(VerifyInt64, WhatADoubleCannotTellApartIsNeverRight) {
  std::int64_t const value = std::int64_t{1} << 53;
  EXPECT_TRUE(passes<std::int64_t>(0x1p53 - 1, 0, value - 1, exact));
  EXPECT_FALSE(passes<std::int64_t>(0x1p53, 0, value + 1, exact));
  EXPECT_FALSE(passes<std::int64_t>(-0x1p53, 0, -value - 1, exact));
  EXPECT_FALSE(passes<std::uint64_t>(0x1p63, 0, std::uint64_t{1} << 63, exact));
}

// -------------------------------------------------------------------------------------------------- same_bits

TYPED_TEST(Verify, SameBits) {
  auto const a = field<TypeParam>({1, 2, 3});
  EXPECT_TRUE(same_bits(a, field<TypeParam>({1, 2, 3})));
  EXPECT_FALSE(same_bits(a, field<TypeParam>({1, 2, 4})));
  EXPECT_FALSE(same_bits(a, field<TypeParam>({0, 2, 3})));
  EXPECT_FALSE(same_bits(a, field<TypeParam>({1, 2})));
  EXPECT_FALSE(same_bits(a, field<TypeParam>({1, 2, 3}, {3, 1})));
  HostField const empty{"out", tessera::dtype_of<TypeParam>, {0}, nullptr};
  EXPECT_TRUE(same_bits(empty, empty));
  EXPECT_FALSE(same_bits(a, {"out", tessera::dtype_of<TypeParam>, {3}, nullptr}));
}

// Accepts fields whose elements add up to 10.
tessera::Statistic adds_up_to_ten(HostField const& actual) {
  auto const* const data = static_cast<float const*>(actual.data.get());
  bool const right = std::accumulate(data, data + actual.count(), 0.0F) == 10.0F;
  return {.fault = right ? "" : "no ten", .false_alarms = 1e-6};
}
TEST(Statistic, judges_values_that_no_reference_knows) {
  ExpectedField expected = reference(std::vector<double>{1, 2});
  expected.of_own_values = adds_up_to_ten;
  Verdict const right = verify_own_values(expected, field<float>({4, 6}));
  EXPECT_TRUE(right.passed) << right.message;
  EXPECT_EQ(right.seen.false_alarms, 1e-6);
  EXPECT_EQ(weakness_of(right.seen, expected, 2), "");
  EXPECT_EQ(verify_own_values(expected, field<float>({4, 5})).message, "out: no ten");
  EXPECT_FALSE(verify_own_values(expected, field<float>({4, 6, 0})).passed);  // another shape
  expected.of_own_values = {};
  EXPECT_FALSE(verify_own_values(expected, field<float>({4, 6})).passed);
  EXPECT_TRUE(verify_own_values(reference(std::vector<double>{}), field<float>({})).passed);
}
TEST(Statistic, is_added_to_the_comparison) {
  ExpectedField expected = reference(std::vector<double>{1, 2});
  expected.statistic = adds_up_to_ten;
  EXPECT_EQ(verify(expected, field<float>({1, 2}), exact).message, "out: no ten");
  EXPECT_FALSE(verify(expected, field<float>({4, 6}), exact).passed);
  expected.value = {4, 6};
  Verdict const right = verify(expected, field<float>({4, 6}), exact);
  EXPECT_TRUE(right.passed);
  EXPECT_EQ(right.seen.false_alarms, 0);  // the values were compared
  EXPECT_FALSE(static_cast<bool>(gather(expected, {{0, 1}}).statistic));
  EXPECT_TRUE(static_cast<bool>(gather(expected, {{0, 2}}).statistic));
}

TEST(SameBits, TellsZerosApartAndDtypes) {
  EXPECT_FALSE(same_bits(field<float>({0.0F}), field<float>({-0.0F})));
  EXPECT_FALSE(same_bits(field<float>({0.0F}), field<std::int32_t>({0})));
  float const nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(same_bits(field<float>({nan}), field<float>({nan})));
}

// Size of the error that one element must have to be detected, in units of the field's root mean square.
TEST(Sensitivity, is_the_widest_bound_over_the_size_of_the_values) {
  // 3 and 4 have the root mean square 5 / sqrt(2).
  ExpectedField const expected = reference({3, -4}, {3, 100});
  Verdict const verdict = verify(expected, field<float>({3, -4}), 1000);
  EXPECT_TRUE(verdict.passed);
  EXPECT_NEAR(verdict.seen.sensitivity(), 1000 * 0x1p-24 * 100 / (5 / std::sqrt(2.0)), 1e-4);
  EXPECT_NEAR(verdict.seen.sharpest(), 1000 * 0x1p-24, 1e-6);
  EXPECT_EQ(verify(reference({3, -4}), field<float>({3, -4}), 1000).seen.sensitivity(), 0);
  EXPECT_EQ(verify(reference({3, -4}, {3, 0}), field<float>({3, -4}), 1000).seen.sharpest(), 0);
  EXPECT_EQ(verify(expected, field<std::int32_t>({3, -4}), 1000).seen.sensitivity(), 0);
  EXPECT_EQ(verify(reference({0, 0}, {1, 1}), field<float>({0, 0}), 1000).seen.sensitivity(), infinity);
  EXPECT_EQ(verify(reference({0, 0}, {1, 1}), field<float>({0, 0}), 1000).seen.sharpest(), infinity);
  // Squares that overflow must not make a wide bound look like no bound.
  EXPECT_NEAR(verify(reference({1e300, 1e300}, {1e300, 1e300}), field<double>({1e300, 1e300}), 1e6).seen.sensitivity(),
              1e6 * 0x1p-53 * std::sqrt(2.0), 1e-10);
}

TEST(Sensitivity, of_a_sample_is_judged_like_that_of_all) {
  ExpectedField expected = reference(std::vector<double>(100, 1.0), std::vector<double>(100, 1.0));
  expected.terms = 7;
  expected.each_sees_all = true;
  ExpectedField const part = tessera::gather(expected, tessera::sample_of(100, 10, 1));
  EXPECT_EQ(part.terms, 7);
  EXPECT_TRUE(part.each_sees_all);
}

TEST(Sensitivity, is_measured_beside_the_terms_where_they_cancel) {
  Verdict const verdict = verify(reference({0, 1}, {1000, 1000}), field<float>({0, 1}), 100);
  EXPECT_GT(verdict.seen.sensitivity(), 1e-3);
  EXPECT_NEAR(verdict.seen.of_terms(), 100 * 0x1p-24, 1e-8);
}

TEST(Growth, of_random_data_grows_with_the_root) {
  double const u = 0x1p-24;
  EXPECT_EQ(tessera::growth_of(64, u, true), tessera::growth_of(64, u, false));
  EXPECT_NEAR(tessera::growth_of(1 << 20, u, true), 8 * 1024 * u, 1e-6);
  EXPECT_NEAR(tessera::growth_of(1 << 20, u, false), std::expm1(0x1p-4), 1e-12);
  ExpectedField const expected = reference(1, 1);
  EXPECT_TRUE(verify(expected, field<float>({1.001F}), {1 << 17, false}).passed);
  EXPECT_FALSE(verify(expected, field<float>({1.001F}), {1 << 17, true}).passed);
}

// Exponentials of a wide range: many terms are smaller than half an ulp of a long sum, and are lost.
TEST(Growth, allows_for_roundings_with_a_mean) {
  for (int const terms : {1 << 16, 1 << 18, 1 << 20, 1 << 22}) {
    for (float const range : {4.0F, 5.5F, 8.0F, 16.0F}) {
      float sum = 0;
      double exact = 0;
      for (int i = 0; i < terms; ++i) {
        float const uniform = tessera::random_value<float>(42, 0, static_cast<std::uint64_t>(i));
        float const term = std::exp((uniform - 1) * range / 2);
        sum += term;
        exact += static_cast<double>(term);
      }
      EXPECT_TRUE(verify(reference(exact, exact), field<float>({sum}), {static_cast<double>(terms), true}).passed)
          << terms << " terms, exponents of 0 to -" << range;
    }
  }
}

// A sum whose terms cancel is as small as before beside its scale.
TEST(Growth, of_means_is_relative_to_the_value) {
  double const u = 0x1p-24;
  double const of_roots = 8 * 1024 * u;
  EXPECT_TRUE(verify(reference(0, 1), field<float>({static_cast<float>(0.99 * of_roots)}), {1 << 20, true}).passed);
  EXPECT_FALSE(verify(reference(0, 1), field<float>({static_cast<float>(1.01 * of_roots)}), {1 << 20, true}).passed);
  EXPECT_TRUE(verify(reference(1, 1), field<float>({1 + 0x1p-8F}), {1 << 20, true}).passed);
  EXPECT_FALSE(verify(reference(1, 1), field<float>({1 + 0x1p-7F}), {1 << 20, true}).passed);
}

// A sum of terms with independent errors: the bound is the rounding of the sum plus the root of the squared term
// errors.
TEST(Growth, of_independent_terms_is_that_of_their_squares) {
  double const u = 0x1p-24;
  double const growth = 8 * 128 * u;  // for 128^2 steps
  ExpectedField expected = reference({0}, {1000});
  expected.random_scale = {10};
  expected.random_spread = {1};
  auto const passes = [&](double error, Chain const& chain) {
    return verify(expected, field<float>({static_cast<float>(error)}), chain).passed;
  };
  EXPECT_TRUE(passes(9.9 * growth, {1 << 14, true}));
  EXPECT_FALSE(passes(10.1 * growth, {1 << 14, true}));
  EXPECT_TRUE(passes(900 * 0x1p14 * u, {1 << 14, false}));  // files keep the worst-case bound
  // For a short chain the worst-case bound is smaller than the random bound; this also holds for the spread.
  EXPECT_TRUE(passes((10 * 16 + 8 * 4 - 16) * u * 0.99, {16, true}));
  EXPECT_FALSE(passes((10 * 16 + 8 * 4 - 16) * u * 1.01, {16, true}));
  // Errors that are not roundings have a random sign only between terms.
  tessera::ReducedPrecision const reduced{.relative = 0x1p-10};
  EXPECT_TRUE(passes(10 * growth + 17 * 0x1p-10 * 0.99, {1 << 14, true, false, reduced}));
  EXPECT_FALSE(passes(10 * growth + 17 * 0x1p-10 * 1.01, {1 << 14, true, false, reduced}));
  expected.random_spread = {1, 1};
  EXPECT_FALSE(passes(0, {1 << 14, true}));
}

// Factors with fewer bits are not a chain of roundings in the dtype: their stated error is added as it is, also for
// random data. It does not excuse errors where the reference is exact.
TEST(ReducedPrecision, RelativeErrorIsAddedToTheChains) {
  tessera::ReducedPrecision const reduced{.relative = 0x1p-11};
  for (bool const random : {false, true}) {
    EXPECT_TRUE(verify(reference({1}, {1}), field<float>({1 + 0x1p-11F}), {1, random, false, reduced}).passed);
    EXPECT_FALSE(verify(reference({1}, {1}), field<float>({1 + 0x1p-10F}), {1, random, false, reduced}).passed);
    EXPECT_FALSE(verify(reference({1}, {1}), field<float>({1 + 0x1p-11F}), {1, random}).passed);
  }
  EXPECT_FALSE(verify(reference({1}), field<float>({1 + 0x1p-23F}), {1, false, false, reduced}).passed);
}
// Products too small for the arithmetic: a relative scale does not cover them.
TEST(ReducedPrecision, AbsoluteErrorIsThatOfWhatIsLost) {
  Chain const loses(1, false, false, {.absolute = 0x1p-40});
  EXPECT_TRUE(verify(reference({0x1p-41}, {0x1p-41}), field<float>({0.0F}), loses).passed);
  EXPECT_FALSE(verify(reference({0x1p-38}, {0x1p-38}), field<float>({0.0F}), loses).passed);
  EXPECT_FALSE(verify(reference({0x1p-41}, {0x1p-41}), field<float>({0.0F}), 1).passed);
}
// A reference with proved exact sums also gives their scale, but only for rows that round the data.
TEST(ReducedPrecision, ExactSumsOfRoundedData) {
  Chain const keeps(1, false, false, {.relative = 0x1p-8});
  Chain const rounds(1, false, false, {.relative = 0x1p-8, .rounds_data = true});
  ExpectedField expected = reference({1}, {1});
  expected.exact = true;
  auto const off = field<float>({1 + 0x1p-9F});
  EXPECT_TRUE(verify(expected, off, rounds).passed);
  EXPECT_FALSE(verify(expected, off, keeps).passed);
  EXPECT_FALSE(verify(expected, field<float>({1 + 0x1p-23F}), 1).passed);
  EXPECT_FALSE(verify(expected, field<float>({1 + 0x1p-7F}), rounds).passed);
  EXPECT_EQ(verify(expected, field<float>({1.0F}), keeps).seen.sensitivity(), 0);
  EXPECT_GT(verify(expected, field<float>({1.0F}), rounds).seen.sensitivity(), 0);
  EXPECT_FALSE(verify_against_file(field<float>({1.0F}), expected, off, keeps).passed);
  EXPECT_TRUE(verify_against_file(field<float>({1.0F}), expected, off, rounds).passed);
}

// Rows that round factors to bfloat16 have separate bounds.
TEST(BFloat16Factors, HaveBoundsOfTheirOwn) {
  Chain const ordinary(1);
  Chain const rounded(1, false, false, {.bfloat16_factors = true});
  ExpectedField expected = reference({1, 1}, {1, 0});
  auto const wrong = field<float>({1 + 0x1p-9F, 1.0F});
  Verdict const without = verify(expected, wrong, rounded);  // a missing bound is neither 0 nor another bound
  EXPECT_FALSE(without.passed);
  EXPECT_NE(without.message.find("bfloat16"), std::string::npos) << without.message;
  expected.bfloat16_scale = {1, 0};
  EXPECT_FALSE(verify(expected, field<float>({1.0F, 1.0F}), rounded).passed);  // a scale without offsets is incomplete
  expected.bfloat16_offset = {0, 0};
  EXPECT_FALSE(verify(expected, wrong, rounded).passed);
  EXPECT_TRUE(verify(expected, wrong, {1, false, false, {.relative = 0x1p-9, .bfloat16_factors = true}})
                  .passed);  // relative to its scale
  expected.bfloat16_offset = {0x1p-9, 0};
  EXPECT_TRUE(verify(expected, wrong, rounded).passed);
  EXPECT_FALSE(verify(expected, wrong, ordinary).passed);
  EXPECT_FALSE(verify(expected, field<float>({1 + 0x1p-8F, 1.0F}), rounded).passed);
  EXPECT_FALSE(verify(expected, field<float>({1.0F, next(1.0F)}), rounded).passed);  // exact stays exact
  EXPECT_TRUE(verify_against_file(field<float>({1.0F, 1.0F}), expected, wrong, rounded).passed);
  EXPECT_FALSE(verify_against_file(field<float>({1.0F, 1.0F}), expected, wrong, ordinary).passed);
  EXPECT_NEAR(verify(expected, wrong, rounded).seen.sensitivity(), 0x1p-9, 0x1p-20);
  expected.bfloat16_scale = {};  // falls back to the ordinary scale
  expected.scale = {2, 0};
  EXPECT_NEAR(verify(expected, wrong, rounded).seen.sensitivity(), 0x1p-9 + 2 * 0x1p-24, 0x1p-23);
  expected.bfloat16_offset = {0};
  EXPECT_FALSE(verify(expected, field<float>({1.0F, 1.0F}), rounded).passed);
}

TEST(Underflow, of_atomics_that_flush_is_a_normal_number_a_step) {
  ExpectedField const expected = reference(0x1p-130, 0x1p-130);
  EXPECT_FALSE(verify(expected, field<float>({0.0F}), {3, false, false}).passed);
  EXPECT_TRUE(verify(expected, field<float>({0.0F}), {3, false, true}).passed);
  EXPECT_FALSE(verify(reference(0x1p-120, 0x1p-120), field<float>({0.0F}), {3, false, true}).passed);
  EXPECT_FALSE(verify(reference(1, 0), field<float>({next(1.0F)}), {3, false, true}).passed);  // exact stays exact
  EXPECT_TRUE(verify(reference(0x1p-130, 0), field<float>({0.0F}), {3, false, true}).passed);
  EXPECT_FALSE(verify(reference(0x1p-130, 0), field<float>({0.0F}), {3, false, false}).passed);
}

// ---------------------------------------------------------------------------------------------- floats of 16 bits

template <class T>
class VerifyShortFloat : public testing::Test {
 protected:
  double const u = tessera::unit_roundoff(tessera::dtype_of<T>);
  double const largest = static_cast<double>(std::numeric_limits<T>::max());
  static T at(double value) { return T(value); }
};
using ShortFloats = testing::Types<tessera::Half, tessera::BFloat16>;
TYPED_TEST_SUITE(VerifyShortFloat, ShortFloats);

TYPED_TEST(VerifyShortFloat, OneOperationHasOneResult) {
  for (double const sign : {1.0, -1.0}) {
    for (double const part : {0.0, 0.9, 1.0, 1.1, 2.0, 3.0}) {
      double const value = sign * (1 + part * this->u);
      double const right = sign * (part <= 1 ? 1 : part < 3 ? 1 + 2 * this->u : 1 + 4 * this->u);
      EXPECT_TRUE(passes<TypeParam>(value, 0, this->at(right), 1)) << part;
      EXPECT_FALSE(passes<TypeParam>(value, 0, this->at(right + 2 * this->u), 1)) << part;
      EXPECT_FALSE(passes<TypeParam>(value, 0, this->at(right - 2 * this->u), 1)) << part;
    }
  }
  // Rounding to float first would give the tie, which rounds to even.
  EXPECT_TRUE(passes<TypeParam>(1 + this->u + 0x1p-50, 0, this->at(1 + 2 * this->u), 1));
  EXPECT_FALSE(passes<TypeParam>(1 + this->u + 0x1p-50, 0, this->at(1), 1));
}

// A chain of 4096 steps in float has an error below half an ulp of the result: besides it only the final rounding is
// allowed. Counted in ulps of the dtype the same chain would allow anything.
TYPED_TEST(VerifyShortFloat, SumsAreRoundedInFloatAndOnceMore) {
  double const steps = 4096;
  double const bound = std::expm1(steps * 0x1p-24) + steps * 0x1p-149;
  for (double const sign : {1.0, -1.0}) {
    double const value = sign * 1.5;
    EXPECT_TRUE(passes<TypeParam>(value, 1, this->at(value), steps));
    EXPECT_FALSE(passes<TypeParam>(value, 1, this->at(value + 2 * this->u), steps));
    EXPECT_FALSE(passes<TypeParam>(value, 1, this->at(value - 2 * this->u), steps));
    // If the sum may lie on either side of the tie, both results are right.
    double const near = sign * (1.5 + this->u - bound / 2);
    EXPECT_TRUE(passes<TypeParam>(near, 1, this->at(sign * 1.5), steps));
    EXPECT_TRUE(passes<TypeParam>(near, 1, this->at(sign * (1.5 + 2 * this->u)), steps));
    EXPECT_FALSE(passes<TypeParam>(near, 1, this->at(sign * (1.5 - 2 * this->u)), steps));
    EXPECT_FALSE(passes<TypeParam>(near, 1, this->at(sign * (1.5 + 4 * this->u)), steps));
    double const far = sign * (1.5 + this->u - 2 * bound);
    EXPECT_FALSE(passes<TypeParam>(far, 1, this->at(sign * (1.5 + 2 * this->u)), steps));
  }
  EXPECT_FALSE(passes<TypeParam>(1, 1, this->at(0.5), 1e6));
  EXPECT_FALSE(passes<TypeParam>(1, 1, std::numeric_limits<TypeParam>::quiet_NaN(), 1e6));
}

// Below a power of two ulps are half as large as above it, where the sum may lie.
TYPED_TEST(VerifyShortFloat, ASumMayBeRoundedInTheNextBinade) {
  double const steps = std::log1p(2 * this->u + 0x1p-19) / 0x1p-24;
  EXPECT_TRUE(passes<TypeParam>(2 - 0x1p-20, 1, this->at(2 + 4 * this->u), steps));
  EXPECT_FALSE(passes<TypeParam>(2 - 0x1p-20, 1, this->at(2 + 8 * this->u), steps));
}

TYPED_TEST(VerifyShortFloat, OverflowIsRightFromHalfAnUlpAboveTheLargest) {
  auto const inf = std::numeric_limits<TypeParam>::infinity();
  auto const most = std::numeric_limits<TypeParam>::max();
  double const edge = this->largest * (1 + this->u / (2 - 2 * this->u));
  std::array<double, 2> const scales{0.0, this->largest};  // named: nvcc's front end loses a list in a template
  for (double const scale : scales) {
    EXPECT_TRUE(passes<TypeParam>(edge * (1 - 1e-9), 0, most, 1));
    EXPECT_FALSE(passes<TypeParam>(edge * (1 - 1e-6), scale, inf, 1));
    EXPECT_TRUE(passes<TypeParam>(edge, scale, inf, 1));
    EXPECT_FALSE(passes<TypeParam>(edge * (1 + 1e-6), scale, most, 1));
    EXPECT_FALSE(passes<TypeParam>(edge, scale, -inf, 1));
  }
  EXPECT_TRUE(passes<TypeParam>(edge * (1 - 1e-6), this->largest, inf, 64));  // the exact sum may lie above
  EXPECT_TRUE(passes<TypeParam>(edge * (1 - 1e-6), this->largest, most, 64));
}

TYPED_TEST(VerifyShortFloat, BelowTheNormalRangeTheLastBitIsTheSmallest) {
  auto const tiny = static_cast<double>(std::numeric_limits<TypeParam>::denorm_min());
  for (double const scale : {0.0, tiny}) {
    EXPECT_TRUE(passes<TypeParam>(2.4 * tiny, scale, this->at(2 * tiny), 1));
    EXPECT_FALSE(passes<TypeParam>(2.4 * tiny, scale, this->at(3.6 * tiny), 1));
    EXPECT_FALSE(passes<TypeParam>(2.4 * tiny, scale, this->at(tiny), 1));
  }
}

TYPED_TEST(VerifyShortFloat, ExactSumsThatAreRoundedSeeHalfAnUlp) {
  ExpectedField expected = reference({1, -1.5});
  HostField const right = field<TypeParam>({this->at(1), this->at(-1.5)});
  EXPECT_EQ(verify(expected, right, 1000).seen.sensitivity(), 0);
  expected.rounded_sums = true;
  Verdict const verdict = verify(expected, right, 1000);
  EXPECT_TRUE(verdict.passed);
  EXPECT_NEAR(verdict.seen.sensitivity(), this->u, this->u / 2);
  EXPECT_NEAR(verdict.seen.sharpest(), this->u, this->u / 2);
  EXPECT_FALSE(verify(expected, field<TypeParam>({this->at(1), this->at(-1.5 + 2 * this->u)}), 1000).passed);
  EXPECT_TRUE(tessera::gather(expected, tessera::sample_of(2, 1, 1)).rounded_sums);
}

TYPED_TEST(VerifyShortFloat, FromAFileAndUnwritten) {
  EXPECT_TRUE(passes_against_file<TypeParam>(this->at(1.5), 0, this->at(1.5), 1));
  EXPECT_FALSE(passes_against_file<TypeParam>(this->at(1.5), 0, this->at(1.5 + 2 * this->u), 1));
  // The file's value and the result may have been rounded in different directions.
  EXPECT_TRUE(passes_against_file<TypeParam>(this->at(1.5), 1, this->at(1.5 + 2 * this->u), 1));
  EXPECT_FALSE(passes_against_file<TypeParam>(this->at(1.5), 1, this->at(1.5 + 4 * this->u), 1));
  TypeParam const poison = tessera::poison_value<TypeParam>;
  ExpectedField const expected = reference({1, 2, 3});
  EXPECT_TRUE(verify(expected, field<TypeParam>({this->at(1), poison, poison}), exact, 1).passed);
  EXPECT_FALSE(verify(expected, field<TypeParam>({this->at(1), poison, this->at(3)}), exact, 1).passed);
  EXPECT_FALSE(verify(expected, field<TypeParam>({this->at(1), this->at(2), poison}), exact).passed);
}

// ---- elements that are only moved

template <class T>
ExpectedField moved(std::vector<T> const& values) {
  ExpectedField expected{"out", {values.size()}, {}, {}};
  expected.moved = field(values);
  return expected;
}
template <class T>
Verdict verdict_on_moved(std::vector<T> const& expected, std::vector<T> const& actual) {
  Verdict const verdict = verify(moved(expected), field(actual), exact);
  EXPECT_EQ(verify_against_file(field(expected), moved(expected), field(actual), exact).passed, verdict.passed);
  EXPECT_TRUE(weakness_of(verdict.seen, moved(expected), 1).empty());
  return verdict;
}

TEST(Moved, IntegersThatNoDoubleHolds) {
  constexpr std::int64_t large = (std::int64_t{1} << 53) + 1;
  EXPECT_TRUE(verdict_on_moved<std::int64_t>({large, -large}, {large, -large}).passed);
  Verdict const verdict = verdict_on_moved<std::int64_t>({0, large}, {0, large - 1});
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.message,
            "out: 1 of 2 elements are wrong; first at [1]: expected 9007199254740993, got 9007199254740992");
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_TRUE(verdict_on_moved<std::uint64_t>({most}, {most}).passed);
  EXPECT_FALSE(verdict_on_moved<std::uint64_t>({most}, {most - 1}).passed);
  EXPECT_FALSE(verdict_on_moved<std::uint32_t>({0, 1}, {1, 0}).passed);
}

TEST(Moved, ZerosAndNaN) {
  EXPECT_TRUE(verdict_on_moved<float>({-0.0F, 0.0F, 1.0F}, {0.0F, -0.0F, 1.0F}).passed);
  EXPECT_EQ(verdict_on_moved<float>({-0.0F, 0.0F}, {0.0F, 0.0F}).message, "out: 1 zeros are wrong: too few are -0");
  EXPECT_EQ(verdict_on_moved<float>({0.0F, 0.0F}, {-0.0F, -0.0F}).message, "out: 2 zeros are wrong: too many are -0");
  auto const nan = static_cast<float>(not_a_number);
  EXPECT_TRUE(verdict_on_moved<float>({1.0F, nan}, {1.0F, nan}).passed);
  EXPECT_FALSE(verdict_on_moved<float>({1.0F, nan}, {nan, 1.0F}).passed);
  EXPECT_FALSE(verdict_on_moved<double>({1.0}, {1.0 + 0x1p-52}).passed);
}

// A row may write a part; the rest must be poison. A sample keeps the elements.
TEST(Moved, PartsAndSamples) {
  std::int64_t const poison = tessera::poison_value<std::int64_t>;
  ExpectedField const expected = moved<std::int64_t>({1, 2, 3});
  EXPECT_TRUE(verify(expected, field<std::int64_t>({1, 2, poison}), exact, 2).passed);
  EXPECT_FALSE(verify(expected, field<std::int64_t>({1, 2, 3}), exact, 2).passed);
  ExpectedField const some = gather(expected, {{1, 3}});
  EXPECT_TRUE(verify(some, field<std::int64_t>({2, 3}), exact).passed);
  EXPECT_FALSE(verify(some, field<std::int64_t>({1, 2}), exact).passed);
  EXPECT_FALSE(verify(expected, field<float>({1, 2, 3}), exact).passed);  // another dtype
}

// An unstable sort may exchange zeros of both signs; in a sample their numbers then differ.
TEST(Moved, ZerosOfASample) {
  ExpectedField const expected = moved<float>({-0.0F, 0.0F, 1.0F});
  auto const exchanged = field<float>({0.0F, -0.0F, 1.0F});
  std::vector<tessera::Stretch> const some{{0, 1}, {2, 3}};
  EXPECT_TRUE(verify(gather(expected, some), gather(exchanged, some), exact).passed);
  EXPECT_TRUE(verify_against_file(gather(field<float>({-0.0F, 0.0F, 1.0F}), some), gather(expected, some),
                                  gather(exchanged, some), exact)
                  .passed);
  EXPECT_FALSE(verify(gather(expected, some), field<float>({1.0F, 1.0F}), exact).passed);
  std::vector<tessera::Stretch> const all{{0, 3}};
  EXPECT_TRUE(verify(gather(expected, all), exchanged, exact).passed);
  EXPECT_FALSE(verify(gather(expected, all), field<float>({0.0F, 0.0F, 1.0F}), exact).passed);
}

// Elements are compared many at a time. An element that is wrong, not finite, unchecked, exact beside others, or with a
// new worst error must count as it does alone, wherever it is.
TEST(VerifyTogether, AnElementCountsAsItDoesAlone) {
  std::size_t const n = 200;
  for (Chain const& chain : {Chain(0), Chain(5), Chain(5, true), Chain(100, false, true)}) {
    for (bool const has_scales : {false, true}) {
      ExpectedField expected = reference(std::vector<double>(n), std::vector<double>(has_scales ? n : 0));
      std::vector<float> right(n);
      std::vector<tessera::CompactElement> packed(n);
      if (has_scales) expected.offset.resize(n);
      for (std::size_t i = 0; i < n; ++i) {
        auto const number = tessera::random_value<double>(1, 2, i);
        expected.value[i] = has_scales ? number * 1.1 : number;
        right[i] = static_cast<float>(expected.value[i]);
        if (!has_scales) continue;
        expected.scale[i] = std::abs(expected.value[i]);
        expected.offset[i] = i % 3 == 0 ? 1e-9 : 0;
        if (chain.rounding_steps > 0 && i > 70) right[i] = next(right[i]);
      }
      auto const compared = [&](ExpectedField const& with, std::vector<float> const& actual) {
        expect_same_alone(with, actual, chain);
        if (!has_scales) return;
        ExpectedField compact = with;
        for (std::size_t i = 0; i < n; ++i) {
          ASSERT_TRUE(tessera::compact({with.value[i], with.scale[i], with.offset[i]}, packed[i])) << i;
        }
        compact.compact = std::shared_ptr<tessera::CompactElement const[]>(std::shared_ptr<void>(), packed.data());
        compact.value = compact.scale = compact.offset = {};
        expect_same_alone(compact, actual, chain);
      };
      compared(expected, right);
      for (std::size_t const place : {0, 3, 63, 64, 127, 130, 191, 192, 199}) {
        for (float const wrong : {right[place] + 1, right[place] * 3, std::nanf(""), HUGE_VALF, -0.0F}) {
          std::vector<float> actual = right;
          actual[place] = wrong;
          compared(expected, actual);
        }
        for (double const value : {not_a_number, infinity, 0.0, 1e-41}) {
          ExpectedField other = expected;
          std::vector<float> actual = right;
          other.value[place] = value;
          if (has_scales) other.scale[place] = std::isfinite(value) ? std::abs(value) : 0;
          if (has_scales) other.offset[place] = 0;
          actual[place] = static_cast<float>(value);
          compared(other, actual);
        }
        if (!has_scales) continue;
        ExpectedField other = expected;
        other.scale[place] = infinity;
        compared(other, right);
        other.scale[place] = other.offset[place] = 0;  // exact beside others
        std::vector<float> actual = right;
        actual[place] = static_cast<float>(other.value[place]);
        compared(other, actual);
      }
    }
  }
}

}  // namespace
