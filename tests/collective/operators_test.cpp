// The suite's own operators, and the properties that the tests assume for their operators.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <gtest/gtest.h>

#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>

#include "operators_for_tests.hpp"

namespace tessera::test {
namespace {

using collective::AnyOperator;
using collective::Max;
using collective::Min;
using collective::OperatorKind;
using collective::Segmented;
using collective::SegmentedOperator;
using collective::Sum;

constexpr std::int32_t int_max = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t int_min = std::numeric_limits<std::int32_t>::min();

TEST(Operators, SumsOfIntegersWrap) {
  Sum<std::int32_t> const sum;
  EXPECT_EQ(sum(int_max, 1), int_min);
  EXPECT_EQ(sum(int_min, -1), int_max);
  EXPECT_EQ(sum(int_min, int_min), 0);
  EXPECT_EQ(sum(int_max, int_max), -2);
  EXPECT_EQ(sum(2, -5), -3);
  EXPECT_EQ((Sum<std::int64_t>{}(std::numeric_limits<std::int64_t>::max(), 1)),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ((Sum<std::uint16_t>{}(65535, 2)), 1);
  EXPECT_EQ((Sum<std::int8_t>{}(127, 1)), -128);
}

TEST(Operators, SumsOfFloats) {
  EXPECT_EQ((Sum<float>{}(0.1f, 0.2f)), 0.1f + 0.2f);
  EXPECT_EQ((Sum<double>{}(0.1, 0.2)), 0.1 + 0.2);
  EXPECT_TRUE(std::isnan(Sum<double>{}(INFINITY, -INFINITY)));
}

template <class T>
void expect_extremes() {
  T const nan = std::numeric_limits<T>::quiet_NaN();
  T const infinity = std::numeric_limits<T>::infinity();
  Max<T> const max;
  Min<T> const min;
  for (T const other : {T(0), T(-1), T(1), infinity, -infinity, nan}) {
    EXPECT_TRUE(std::isnan(max(nan, other)) && std::isnan(max(other, nan))) << other;
    EXPECT_TRUE(std::isnan(min(nan, other)) && std::isnan(min(other, nan))) << other;
  }
  EXPECT_EQ(max(T(1), T(2)), T(2));
  EXPECT_EQ(max(T(2), T(1)), T(2));
  EXPECT_EQ(min(T(1), T(2)), T(1));
  EXPECT_EQ(min(T(2), T(1)), T(1));
  EXPECT_EQ(max.identity(), -infinity);
  EXPECT_EQ(min.identity(), infinity);
}

TEST(Operators, NotANumberWinsOnEitherSide) {
  expect_extremes<float>();
  expect_extremes<double>();
}

TEST(Operators, ExtremesOfIntegers) {
  EXPECT_EQ((Max<std::int32_t>{}(int_min, int_max)), int_max);
  EXPECT_EQ((Max<std::int32_t>{}(int_max, int_min)), int_max);
  EXPECT_EQ((Min<std::int32_t>{}(int_min, int_max)), int_min);
  EXPECT_EQ((Min<std::int32_t>{}(int_max, int_min)), int_min);
  EXPECT_EQ((Max<std::int32_t>{}.identity()), int_min);
  EXPECT_EQ((Min<std::int32_t>{}.identity()), int_max);
}

// op(identity, x) == x == op(x, identity)
template <class Op, class T>
void expect_identity(Op const& op, T const& x) {
  static_assert(collective::OperatorOn<Op, T>);
  EXPECT_TRUE(same(static_cast<T>(op(op.identity(), x)), x));
  EXPECT_TRUE(same(static_cast<T>(op(x, op.identity())), x));
}

template <class T>
void expect_identities() {
  using Limits = std::numeric_limits<T>;
  for (T const x : {T(0), T(1), T(-1), Limits::max(), Limits::lowest(), Limits::min(), T(-Limits::infinity()),
                    Limits::infinity(), Limits::quiet_NaN()}) {
    expect_identity(Sum<T>{}, x);
    expect_identity(Max<T>{}, x);
    expect_identity(Min<T>{}, x);
    for (auto const kind : {OperatorKind::sum, OperatorKind::max, OperatorKind::min}) {
      expect_identity(AnyOperator<T>{kind}, x);
    }
  }
}

TEST(Operators, Identities) {
  expect_identities<std::int32_t>();
  expect_identities<float>();
  expect_identities<double>();
}

TEST(Operators, AnyOperatorIsTheOneItSays) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    auto const a = static_cast<std::int32_t>(random_bits(2 * i));
    auto const b = static_cast<std::int32_t>(random_bits(2 * i + 1));
    EXPECT_EQ((AnyOperator<std::int32_t>{OperatorKind::sum}(a, b)), (Sum<std::int32_t>{}(a, b)));
    EXPECT_EQ((AnyOperator<std::int32_t>{OperatorKind::max}(a, b)), (Max<std::int32_t>{}(a, b)));
    EXPECT_EQ((AnyOperator<std::int32_t>{OperatorKind::min}(a, b)), (Min<std::int32_t>{}(a, b)));
  }
}

TEST(Operators, SegmentsStopWhatComesBefore) {
  SegmentedOperator<std::int32_t, Sum<std::int32_t>> const op;
  using Value = Segmented<std::int32_t>;
  EXPECT_TRUE(same(op(Value{3, 0}, Value{4, 0}), Value{7, 0}));
  EXPECT_TRUE(same(op(Value{3, 1}, Value{4, 0}), Value{7, 1}));
  EXPECT_TRUE(same(op(Value{3, 0}, Value{4, 1}), Value{4, 1}));
  EXPECT_TRUE(same(op(Value{3, 1}, Value{4, 1}), Value{4, 1}));
}

TEST(Operators, SegmentedExtremes) {
  SegmentedOperator<float, AnyOperator<float>> const op{{OperatorKind::max}};
  using Value = Segmented<float>;
  EXPECT_EQ(op.identity().value, -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(same(op(Value{9, 1}, Value{4, 0}), Value{9, 1}));
  EXPECT_TRUE(same(op(Value{9, 1}, Value{4, 1}), Value{4, 1}));
}

template <class Op>
void expect_associative_with_identity() {
  static_assert(std::is_trivially_copyable_v<typename Op::Value>);
  static_assert(std::has_unique_object_representations_v<typename Op::Value>);
  Op const op;
  int disagreements = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    auto const a = Op::sample(random_bits(3 * i));
    auto const b = Op::sample(random_bits(3 * i + 1));
    auto const c = Op::sample(random_bits(3 * i + 2));
    ASSERT_TRUE(same<typename Op::Value>(op(op(a, b), c), op(a, op(b, c)))) << i;
    ASSERT_TRUE(same<typename Op::Value>(op(op.identity(), a), a)) << i;
    ASSERT_TRUE(same<typename Op::Value>(op(a, op.identity()), a)) << i;
    if (!same<typename Op::Value>(op(a, b), op(b, a))) ++disagreements;
  }
  // They must not be commutative; otherwise tests could not see a wrong order.
  EXPECT_GT(disagreements, 200);
}

TEST(Operators, SegmentedIsAssociative) { expect_associative_with_identity<SegmentedSum>(); }

TEST(OperatorsForTests, AreAssociativeNotCommutative) {
  expect_associative_with_identity<Compose<std::uint16_t>>();
  expect_associative_with_identity<Compose<std::uint32_t>>();
  expect_associative_with_identity<Multiply>();
  expect_associative_with_identity<LastNonZero>();
  static_assert(sizeof(Affine<std::uint16_t>) == 4 && sizeof(Affine<std::uint32_t>) == 8 && sizeof(Matrix) == 16);
}

TEST(Packs, AreAlignedToTheirSize) {
  static_assert(sizeof(collective::Pack<float, 4>) == 16 && alignof(collective::Pack<float, 4>) == 16);
  static_assert(collective::pack_width<float> == 4 && collective::pack_width<double> == 2 &&
                collective::pack_width<std::int8_t> == 16 && collective::pack_width<Matrix> == 1);
  alignas(16) float data[8] = {};
  EXPECT_TRUE(collective::is_aligned_for_packs<4>(data));
  EXPECT_FALSE(collective::is_aligned_for_packs<4>(data + 1));
  EXPECT_FALSE(collective::is_aligned_for_packs<4>(data + 2));
  EXPECT_TRUE(collective::is_aligned_for_packs<2>(data + 2));
  EXPECT_TRUE(collective::is_aligned_for_packs<1>(data + 1));
  EXPECT_TRUE(collective::is_aligned_for_packs<4>(data + 4));
}

}  // namespace
}  // namespace tessera::test
