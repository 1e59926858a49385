// Wrong moving averages must be caught, each with one typical mistake of stencils.

#include <cstddef>

#include "broken_stencil.hpp"

#include "../../apps/moving_average/problem.hpp"

namespace tessera::moving_average {

App app();

namespace {

// Mean of `count` elements from in[i] on, divided as if there were `of` elements.
template <class T>
KOKKOS_INLINE_FUNCTION T mean(T const* in, std::size_t i, std::size_t count, int of) {
  Arithmetic<T> sum = in[i];
  if (count > 1) sum += in[i + 1];
  if (count > 2) sum += in[i + 2];
  return sum * share_of<Arithmetic<T>>(of);
}

// Elements from i to the next multiple of `length` or to n, at most 3.
KOKKOS_INLINE_FUNCTION int present(std::size_t i, std::size_t n, std::size_t length) {
  std::size_t const left = Kokkos::min(n - i, length == 0 ? n - i : length - i % length);
  return left < 3 ? static_cast<int>(left) : 3;
}

// Takes the next segment's elements.
struct CrossesSegments {
  template <Floating T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t) {
    return mean(in, i, present(i, n, 0), present(i, n, 0));
  }
};

// Divides by 3 where there are fewer.
struct AlwaysThirds {
  template <Floating T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t segment) {
    return mean(in, i, present(i, n, segment), 3);
  }
};

// Tiles of 8 that see one element behind them.
struct HaloOfOne {
  template <Floating T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t segment) {
    int const there = present(i, n, segment);
    return mean(in, i, i % 8 == 7 && there > 2 ? 2 : there, there);
  }
};

// Zeros past the end count as elements.
struct LanesBeyondEnd {
  template <Floating T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t) {
    return mean(in, i, present(i, n, 0), 3);
  }
};

// Counts segments from its tile of 8 on.
struct SegmentsFromTile {
  template <Floating T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t segment) {
    int const there = Kokkos::min(present(i % 8, n, segment), present(i, n, 0));
    return mean(in, i, there, there);
  }
};

template <class Mistake>
void expect_caught(std::int64_t segment, std::string const& where) {
  testing::expect_caught<MovingAverage>(testing::WrongStencil<MovingAverage, Mistake>{}, 100, {{"segment", segment}},
                                        where);
}

TEST(BrokenMovingAverage, CrossesSegments) { expect_caught<CrossesSegments>(32, "first at [30]"); }
TEST(BrokenMovingAverage, AlwaysThirds) { expect_caught<AlwaysThirds>(32, "first at [30]"); }
TEST(BrokenMovingAverage, HaloOfOne) { expect_caught<HaloOfOne>(0, "first at [7]"); }
TEST(BrokenMovingAverage, LanesBeyondEnd) { expect_caught<LanesBeyondEnd>(0, "2 of 100 elements are wrong"); }
TEST(BrokenMovingAverage, SegmentsFromTile) { expect_caught<SegmentsFromTile>(3, "first at [8]"); }

// The sum of three may overflow although the mean does not.
void expect_means(std::vector<double> const& in, std::vector<double> const& wanted) {
  testing::GivenFields const source({{"in", {{in.size()}, in}}});
  testing::expect_checked(app(), source, {}, wanted, 1e-6);
}
TEST(MovingAverage, SumsPastTheRange) {
  double const infinity = std::numeric_limits<double>::infinity();
  double const not_a_number = std::numeric_limits<double>::quiet_NaN();
  expect_means(std::vector<double>(8, 3e38), std::vector<double>(8, 3e38));
  expect_means({3.4e38, 3.4e38, -3.4e38, -3.4e38, 1e38}, {3.4e38 / 3, -3.4e38 / 3, -5.8e38 / 3, -1.2e38, 1e38});
  expect_means({3e38, 3e38, 1.401298464324817e-45, 1.401298464324817e-45, 1.401298464324817e-45},
               {2e38, 1e38, 1.401298464324817e-45, 1.401298464324817e-45, 1.401298464324817e-45});
  expect_means({3e38, 3e38, infinity, 3e38, not_a_number, 3e38},
               {infinity, infinity, not_a_number, not_a_number, not_a_number, 3e38});
  // Many tiles, with all lanes and tails.
  expect_means(std::vector<double>(70001, -3e38), std::vector<double>(70001, -3e38));
}
// The plain formula: its sums leave the range, and it gives infinities.
struct PlainSum {
  template <Floating T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t) {
    return mean(in, i, present(i, n, 0), present(i, n, 0));
  }
};
TEST(BrokenMovingAverage, SumLeavesTheRange) {
  App const broken =
      testing::app_with({testing::rows_of<MovingAverage>(testing::WrongStencil<MovingAverage, PlainSum>{})});
  testing::GivenFields const source({{"in", {{8}, std::vector<double>(8, 3e38)}}});
  for (Row const& row : broken.rows) {
    if (row.dtype != DType::float32 || !testing::is_wanted(row)) continue;
    auto const problem_case = broken.read(row.dtype, source, testing::with_defaults(broken, {}));
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
    EXPECT_NE(outcome.find("7 of 8 elements are wrong"), std::string::npos) << outcome;
  }
}

}  // namespace
}  // namespace tessera::moving_average
