// The exponential function of references, beside the C library's in long double.

#include <tessera/verify/exponential.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::verify {
namespace {

TEST(Exponential, IsWithinItsError) {
  double worst = 0;
  for (double d = 0; d > -708; d -= d > -20 ? 0x1.01p-14 : 0x1.01p-6) {
    long double const right = std::exp(static_cast<long double>(d));
    worst = std::max(worst, static_cast<double>(std::abs(exponential_of_negative(d) / right - 1)));
  }
  EXPECT_LT(worst, 0x1p-51);
  EXPECT_GT(worst, 0x1p-54);
}

TEST(Exponential, IsExactAtItsEnds) {
  EXPECT_EQ(exponential_of_negative(0.0), 1);
  EXPECT_EQ(exponential_of_negative(-0.0), 1);
  EXPECT_LT(exponential_of_negative(-std::numeric_limits<double>::epsilon()), 1);
  EXPECT_EQ(exponential_of_negative(-std::numeric_limits<double>::denorm_min()), 1);
  EXPECT_NEAR(exponential_of_negative(-708) / std::exp(-708.0), 1, 0x1p-51);
  for (double const d : {std::nextafter(-708.0, -1000.0), -745.0, -1e300}) EXPECT_EQ(exponential_of_negative(d), 0);
  EXPECT_EQ(exponential_of_negative(-std::numeric_limits<double>::infinity()), 0);
}

}  // namespace
}  // namespace tessera::verify
