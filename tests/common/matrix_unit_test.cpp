// The matrix unit's model: every element is some lane's, and products are those of plain loops.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

#include <tessera/collective/lane/matrix_unit.hpp>

namespace tessera::collective {
namespace {

template <class Factor>
class MatrixUnits : public testing::Test {};
using Factors = testing::Types<Tf32, Half, BFloat16>;
TYPED_TEST_SUITE(MatrixUnits, Factors);

template <class Factor, class Fragment>
void set(Fragment& fragment, int i, float value) {
  if constexpr (std::is_same_v<Factor, Tf32>) {
    fragment.at[i] = value;
  } else {
    auto const bits = static_cast<std::uint32_t>(Kokkos::bit_cast<std::uint16_t>(Factor(value)));
    fragment.at[i / 2] = i % 2 == 0 ? bits : fragment.at[i / 2] | bits << 16;
  }
}

TYPED_TEST(MatrixUnits, EachElementIsOneLanes) {
  using Unit = MatrixUnit<TypeParam>;
  std::set<std::pair<int, int>> a;
  std::set<std::pair<int, int>> b;
  std::set<std::pair<int, int>> c;
  for (int lane = 0; lane < Unit::lanes; ++lane) {
    for (int i = 0; i < Unit::A::elements; ++i) {
      EXPECT_TRUE(a.emplace(Unit::row_of_a(lane, i), Unit::col_of_a(lane, i)).second);
    }
    for (int i = 0; i < Unit::B::elements; ++i) {
      EXPECT_TRUE(b.emplace(Unit::row_of_b(lane, i), Unit::col_of_b(lane, i)).second);
    }
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(c.emplace(Unit::row_of_c(lane, i), Unit::col_of_c(lane, i)).second);
  }
  EXPECT_EQ(*a.rbegin(), std::pair(15, Unit::depth - 1));
  EXPECT_EQ(*b.rbegin(), std::pair(Unit::depth - 1, 7));
  EXPECT_EQ(*c.rbegin(), std::pair(15, 7));
}

TYPED_TEST(MatrixUnits, AddsTheProduct) {
  using Unit = MatrixUnit<TypeParam>;
  using Lanes = lane::Emulated<Unit::lanes>;
  auto const of_a = [](int row, int k) { return static_cast<float>(row * 3 + k * 5 % 7); };
  auto const of_b = [](int k, int col) { return static_cast<float>(k * k - 2 * col); };
  Lanes const lanes;
  typename Lanes::template Value<typename Unit::A> a;
  typename Lanes::template Value<typename Unit::B> b;
  typename Lanes::template Value<typename Unit::C> c;
  for (int lane = 0; lane < Unit::lanes; ++lane) {
    for (int i = 0; i < Unit::A::elements; ++i) {
      set<TypeParam>(a.at[lane], i, of_a(Unit::row_of_a(lane, i), Unit::col_of_a(lane, i)));
    }
    for (int i = 0; i < Unit::B::elements; ++i) {
      set<TypeParam>(b.at[lane], i, of_b(Unit::row_of_b(lane, i), Unit::col_of_b(lane, i)));
    }
    for (int i = 0; i < 4; ++i) c.at[lane].at[i] = 1000;
  }
  multiply_add(Unit{}, lanes, c, a, b);
  for (int lane = 0; lane < Unit::lanes; ++lane) {
    for (int i = 0; i < 4; ++i) {
      float sum = 1000;
      for (int k = 0; k < Unit::depth; ++k) sum += of_a(Unit::row_of_c(lane, i), k) * of_b(k, Unit::col_of_c(lane, i));
      EXPECT_EQ(c.at[lane].at[i], sum);
    }
  }
  auto product = c;  // whatever was there
  multiply(Unit{}, lanes, product, a, b);
  for (int lane = 0; lane < Unit::lanes; ++lane) {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(product.at[lane].at[i], c.at[lane].at[i] - 1000);
  }
}

TEST(MatrixUnit, RoundsPairsOfFloats) {
  using Unit = MatrixUnit<BFloat16>;
  EXPECT_EQ(Unit::word(1.0F, -2.0F), 0xc000'3f80U);
  EXPECT_EQ(Unit::word(1 + 0x1p-8F, 1 + 0x1.8p-7F), 0x3f82'3f80U);  // ties, to even
  EXPECT_EQ(Unit::word(1 + 0x1.02p-8F, 0.0F), 0x0000'3f81U);
  EXPECT_EQ(MatrixUnit<Half>::word(1.0F, -2.0F), 0xc000'3c00U);
}

TEST(MatrixUnit, RoundsToElevenBits) {
  EXPECT_EQ(to_tf32(0.0F), 0.0F);
  EXPECT_EQ(to_tf32(-2047.0F), -2047.0F);
  EXPECT_EQ(to_tf32(1 + 0x1p-10F), 1 + 0x1p-10F);
  EXPECT_EQ(to_tf32(1 + 0x1p-11F), 1 + 0x1p-10F);  // a tie, away from 0
  EXPECT_EQ(to_tf32(-1 - 0x1p-11F), -1 - 0x1p-10F);
  EXPECT_EQ(to_tf32(1 + 0x1p-11F - 0x1p-23F), 1.0F);
  using Unit = MatrixUnit<Tf32>;
  EXPECT_TRUE(std::isfinite(to_tf32(Unit::largest)));
  EXPECT_EQ(to_tf32(Unit::smallest), Unit::smallest);
  // Twice eleven bits are what float has less two.
  for (float value = 1; value < 2; value += 0x1.0f3p-12F) {
    float const high = to_tf32(value);
    EXPECT_LE(std::abs(value - high - to_tf32(value - high)), 0x1p-22F);
    // What is left over has twelve bits: one is cut off.
    EXPECT_LE(std::abs(value - high - cut_to_tf32(value - high)), 0x1p-23F);
    EXPECT_LE(cut_to_tf32(value), value);
    EXPECT_EQ(to_tf32(cut_to_tf32(value)), cut_to_tf32(value));
  }
}

}  // namespace
}  // namespace tessera::collective
