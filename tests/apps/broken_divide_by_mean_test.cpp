// Rows that are divided by something else than their mean must be caught.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broken_rows.hpp"

#include "../../apps/divide_by_mean/problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/verify/verify.hpp>

namespace tessera::divide_by_mean {

App app();

namespace {

enum class Mistake {
  none,
  neighbours_mean,
  no_broadcast,       // each share of a row has its own part of the sum
  tail_not_divided,   // the last tile of a row is short
  tail_not_summed,    // the same in the sum
  divides_by_columns  // not by the mean
};

// One index per row, whose columns belong to four shares in turn, as to the threads of a team.
template <class T>
struct DividesRow {
  static constexpr int shares = 4;
  static constexpr std::size_t tile = 16;
  Mistake mistake;
  T const* a;
  T* out;
  std::size_t rows;
  std::size_t cols;

  KOKKOS_FUNCTION void operator()(std::size_t r) const {
    std::size_t const summed = mistake == Mistake::neighbours_mean ? (r + 1) % rows : r;
    std::size_t const whole = cols / tile * tile;
    T parts[shares] = {};
    std::size_t const end = mistake == Mistake::tail_not_summed ? whole : cols;
    for (std::size_t c = 0; c < end; ++c) parts[c % shares] += a[summed * cols + c];
    T const count = static_cast<T>(cols);
    T const mean = (parts[0] + parts[1] + parts[2] + parts[3]) / count;
    for (std::size_t c = 0; c < cols; ++c) {
      T divisor = mean;
      if (mistake == Mistake::no_broadcast && c % shares > 0) divisor = parts[c % shares] / count;
      if (mistake == Mistake::divides_by_columns) divisor = count;
      if (mistake == Mistake::tail_not_divided && c >= whole) divisor = 1;
      out[r * cols + c] = a[r * cols + c] / divisor;
    }
  }
};

struct DividesRows {
  Mistake mistake;

  template <ExecutionSpace Exec, std::floating_point T>
  void operator()(Exec const& exec, InputOn<DivideByMean, Exec, T> const& in,
                  OutputOn<DivideByMean, Exec, T> const& out) const {
    Kokkos::parallel_for("tessera::tests::broken_divide_by_mean", over(exec, in.a.extent(0)),
                         DividesRow<T>{mistake, in.a.data(), out.out.data(), in.a.extent(0), in.a.extent(1)});
  }
};

ParameterMap const of_rows{{"rows", std::int64_t{17}}};
void expect_caught(Mistake mistake, std::string const& where) {
  testing::expect_caught<DivideByMean>(DividesRows{mistake}, 17 * 59, of_rows, where);
}

TEST(BrokenDivideByMean, RightWithoutAMistake) {
  testing::expect_right<DivideByMean>(DividesRows{Mistake::none}, 17 * 59, of_rows);
}
TEST(BrokenDivideByMean, NeighboursMean) { expect_caught(Mistake::neighbours_mean, "first at [0]"); }
TEST(BrokenDivideByMean, NoBroadcast) { expect_caught(Mistake::no_broadcast, "first at [1]"); }
TEST(BrokenDivideByMean, TailNotDivided) { expect_caught(Mistake::tail_not_divided, "first at [48]"); }
TEST(BrokenDivideByMean, TailNotSummed) { expect_caught(Mistake::tail_not_summed, "first at [0]"); }
TEST(BrokenDivideByMean, DividesByColumns) { expect_caught(Mistake::divides_by_columns, "first at [0]"); }

// Returns the source of one matrix.
testing::GivenFields matrix(std::size_t rows, std::size_t cols, std::vector<double> const& a) {
  return testing::GivenFields({{"a", {{rows, cols}, a}}});
}

// The mean is representable although the sum is not; the elements of a row may have any mean.
TEST(DivideByMean, SumsPastTheRange) {
  double const most = std::numeric_limits<float>::max();
  std::vector<double> const ones(70001, 1);
  std::size_t const before = std::exchange(part_elements(), 1 << 20);  // numbers of a larger reference are packed
  testing::expect_checked(app(), matrix(1, 70001, std::vector<double>(70001, -most)), {}, ones, 0);
  part_elements() = before;
  testing::expect_checked(app(), matrix(2, 4, {3e38, 1e38, 1e38, 3e38, 1, 2, 3, 2}), {},
                          {1.5, 0.5, 0.5, 1.5, 0.5, 1, 1.5, 1}, 1e-6);
  testing::expect_checked(app(), matrix(4, 2, {most, most, most, 1e30, 1, 3, -most, -most}), {},
                          {1, 1, 2, 2e30 / most, 0.5, 1.5, 1, 1}, 1e-6);
}
TEST(DivideByMean, MeansThatAreZeroOrNotFinite) {
  double const infinity = std::numeric_limits<double>::infinity();
  double const not_a_number = std::numeric_limits<double>::quiet_NaN();
  testing::expect_checked(app(), matrix(3, 3, {1, -3, 2, 0, 0, 0, -0.0, -0.0, -0.0}), {},
                          {infinity, -infinity, infinity, not_a_number, not_a_number, not_a_number, not_a_number,
                           not_a_number, not_a_number},
                          0);
  testing::expect_checked(
      app(), matrix(3, 3, {1, infinity, -2, infinity, 1, -infinity, 1, not_a_number, 2}), {},
      {0, not_a_number, 0, not_a_number, not_a_number, not_a_number, not_a_number, not_a_number, not_a_number}, 0);
  testing::expect_checked(app(), matrix(1, 3, {3e38, 3e38, -infinity}), {}, {0, 0, not_a_number}, 0);
}
// The plain formula: its sum leaves the range, and it gives zeros.
TEST(BrokenDivideByMean, SumLeavesTheRange) {
  App const broken = testing::app_with({testing::rows_of<DivideByMean>(DividesRows{Mistake::none})});
  for (Row const& row : broken.rows) {
    if (row.dtype != DType::float32 || !testing::is_wanted(row)) continue;
    auto const problem_case =
        broken.read(row.dtype, matrix(1, 8, std::vector<double>(8, 3e38)), testing::with_defaults(broken, {}));
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
    EXPECT_NE(outcome.find("8 of 8 elements are wrong"), std::string::npos) << outcome;
  }
}
// The smallest number counts once in the bound, not once for each rounding: zeros are wrong.
TEST(DivideByMean, MeansNearTheSmallestNumber) {
  std::vector<double> tiny(64 * 64);
  for (std::size_t i = 0; i < tiny.size(); ++i) tiny[i] = static_cast<double>(i % 8 + 1) * 0x1p-149;
  std::vector<float> const zeros(tiny.size());
  for (Row const& row : app().rows) {
    if (row.dtype != DType::float32 || !testing::is_wanted(row)) continue;
    auto const problem_case = app().read(row.dtype, matrix(64, 64, tiny), testing::with_defaults(app(), {}));
    std::vector<ExpectedField> const expected = problem_case->reference();
    HostField const wrong{"out", row.dtype, {64, 64}, {std::shared_ptr<void const>(), zeros.data()}};
    EXPECT_FALSE(verify(expected[0], wrong, 67).passed);
    EXPECT_EQ(testing::run_row(row, *problem_case, expected, 1), "") << testing::name_of(app(), row);
  }
}
// A row whose elements cancel has lost the digits of its mean: nothing is known about it.
TEST(DivideByMean, CancellingRowsAreUnchecked) {
  for (Row const& row : app().rows) {
    if (row.dtype != DType::float32 || !testing::is_wanted(row)) continue;
    auto const problem_case =
        app().read(row.dtype, matrix(2, 3, {1e8, 0.1, -1e8, 1, 2, 0.1}), testing::with_defaults(app(), {}));
    std::vector<ExpectedField> const expected = problem_case->reference();
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(expected[0].scale[c], std::numeric_limits<double>::infinity());
      EXPECT_LT(expected[0].scale[3 + c], 100);
    }
    EXPECT_EQ(testing::run_row(row, *problem_case, expected, 2), "") << testing::name_of(app(), row);
  }
}

}  // namespace
}  // namespace tessera::divide_by_mean
