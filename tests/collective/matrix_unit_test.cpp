// The model of the matrix unit: every element belongs to a lane, and products equal the results of plain loops.

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

template <class Unit>
class MatrixUnits : public testing::Test {};
using Units = testing::Types<MatrixUnit<Tf32>, MatrixUnit<Half>, MatrixUnit<BFloat16>, MatrixUnit<Tf32, 64>,
                             MatrixUnit<Half, 64>, MatrixUnit<BFloat16, 64>>;
TYPED_TEST_SUITE(MatrixUnits, Units);

template <class Unit>
struct FactorOf;
template <class F, int Lanes>
struct FactorOf<MatrixUnit<F, Lanes>> {
  using type = F;
};

template <class Unit, class Fragment>
void set(Fragment& fragment, int i, float value) {
  using Factor = typename FactorOf<Unit>::type;
  if constexpr (std::is_same_v<Factor, Tf32>) {
    fragment.at[i] = value;
  } else {
    auto const bits = static_cast<std::uint32_t>(Kokkos::bit_cast<std::uint16_t>(Factor(value)));
    fragment.at[i / 2] = i % 2 == 0 ? bits : fragment.at[i / 2] | bits << 16;
  }
}

TYPED_TEST(MatrixUnits, EachElementIsOneLanes) {
  using Unit = TypeParam;
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
  EXPECT_EQ(*b.rbegin(), std::pair(Unit::depth - 1, Unit::cols - 1));
  EXPECT_EQ(*c.rbegin(), std::pair(15, Unit::cols - 1));
}

// The layout that kernels assume: rows of a and columns of b follow the lane's line; a quarter of the depth and of c's
// columns belongs to its group of four.
TYPED_TEST(MatrixUnits, LinesAndFours) {
  using Unit = TypeParam;
  EXPECT_EQ(Unit::groups * Unit::lines, Unit::rows);
  for (int lane = 0; lane < Unit::lanes; ++lane) {
    std::set<int> rows;
    for (int i = 0; i < Unit::A::elements; ++i) rows.insert(Unit::row_of_a(lane, i));
    std::set<int> lines;
    for (int group = 0; group < Unit::groups; ++group) lines.insert(Unit::line_of(lane) + group * Unit::lines);
    EXPECT_EQ(rows, lines);
    for (int i = 0; i < Unit::B::elements; ++i) EXPECT_EQ(Unit::col_of_b(lane, i), Unit::line_of(lane));
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(Unit::row_of_c(lane, i) % Unit::lines, Unit::line_of(lane));
      EXPECT_EQ(Unit::col_of_c(lane, i) / (Unit::cols / 4), Unit::four_of(lane));
    }
    // Elements of a and b with the same number have the same k.
    for (int i = 0; i < Unit::B::elements; ++i) {
      int const of_a =
          std::is_same_v<typename FactorOf<Unit>::type, Tf32> ? i * Unit::groups : i / 2 * 2 * Unit::groups + i % 2;
      EXPECT_EQ(Unit::col_of_a(lane, of_a), Unit::row_of_b(lane, i));
    }
  }
}

TYPED_TEST(MatrixUnits, AddsTheProduct) {
  using Unit = TypeParam;
  using Lanes = lane::Emulated<Unit::lanes>;
  auto const of_a = [](int row, int k) { return static_cast<float>(row * 3 + k * 5 % 7); };
  auto const of_b = [](int k, int col) { return static_cast<float>(k * k - 2 * col); };
  Lanes const lanes;
  typename Lanes::template Value<typename Unit::A> a;
  typename Lanes::template Value<typename Unit::B> b;
  typename Lanes::template Value<typename Unit::C> c;
  for (int lane = 0; lane < Unit::lanes; ++lane) {
    for (int i = 0; i < Unit::A::elements; ++i) {
      set<Unit>(a.at[lane], i, of_a(Unit::row_of_a(lane, i), Unit::col_of_a(lane, i)));
    }
    for (int i = 0; i < Unit::B::elements; ++i) {
      set<Unit>(b.at[lane], i, of_b(Unit::row_of_b(lane, i), Unit::col_of_b(lane, i)));
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
  auto product = c;  // the old values
  multiply(Unit{}, lanes, product, a, b);
  for (int lane = 0; lane < Unit::lanes; ++lane) {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(product.at[lane].at[i], c.at[lane].at[i] - 1000);
  }
}

// Units of 64 lanes may flush denormals, so the model does: the accuracy that a kernel states must hold for it.
TEST(MatrixUnit, OfWavefrontsFlushes) {
  EXPECT_FALSE(MatrixUnit<Half>::flushes);
  using Unit = MatrixUnit<Half, 64>;
  lane::Emulated<64> const lanes;
  lane::Values<Unit::A, 64> a{};
  lane::Values<Unit::B, 64> b{};
  lane::Values<Unit::C, 64> c{};
  set<Unit>(a.at[0], 0, 0x1p-15F);  // row 0, k 0
  set<Unit>(a.at[1], 0, 0x1p-14F);  // row 1, k 0
  for (int lane = 0; lane < 16; ++lane) set<Unit>(b.at[lane], 0, 1.0F);
  c.at[2].at[0] = 0x1p-127F;  // row 2, column 0
  multiply_add(Unit{}, lanes, c, a, b);
  EXPECT_EQ(c.at[0].at[0], 0.0F);
  EXPECT_EQ(c.at[1].at[0], 0x1p-14F);
  EXPECT_EQ(c.at[2].at[0], 0.0F);
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
  // Two factors of eleven bits together lack two bits of float's precision.
  for (float value = 1; value < 2; value += 0x1.0f3p-12F) {
    float const high = to_tf32(value);
    EXPECT_LE(std::abs(value - high - to_tf32(value - high)), 0x1p-22F);
    // The remainder has twelve bits, of which one is truncated.
    EXPECT_LE(std::abs(value - high - cut_to_tf32(value - high)), 0x1p-23F);
    EXPECT_LE(cut_to_tf32(value), value);
    EXPECT_EQ(to_tf32(cut_to_tf32(value)), cut_to_tf32(value));
  }
}

}  // namespace
}  // namespace tessera::collective
