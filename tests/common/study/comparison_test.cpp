// tessera compare: statistics against known numbers, and verdicts on launches whose true result is known.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <tessera/measure/sampling.hpp>
#include <tessera/study/comparison.hpp>

namespace tessera::comparison {
namespace {

TEST(Comparison, the_bootstrap_of_the_median_is_that_of_all_draws) {
  for (std::size_t const n : {1, 2, 3, 4, 5, 6}) {
    // All n^n resamples.
    std::vector<std::vector<double>> counted(n, std::vector<double>(n, 0.0));
    std::vector<std::size_t> draw(n, 0);
    double const weight = std::pow(static_cast<double>(n), -static_cast<double>(n));
    for (bool more = true; more;) {
      std::vector<std::size_t> sorted = draw;
      std::ranges::sort(sorted);
      counted[sorted[(n - 1) / 2]][sorted[n / 2]] += weight;
      std::size_t digit = 0;
      while (digit < n && ++draw[digit] == n) draw[digit++] = 0;
      more = digit < n;
    }
    auto const computed = bootstrap_of_median(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i; j < n; ++j)
        EXPECT_NEAR(computed[i][j], counted[i][j], 1e-12) << n << " " << i << " " << j;
    }
  }
}

// Values from the usual statistical tables.
TEST(Comparison, quantiles_of_student) {
  EXPECT_NEAR(student_quantile(0.025, 1), 12.7062, 1e-4);
  EXPECT_NEAR(student_quantile(0.025, 8), 2.30600, 1e-5);
  EXPECT_NEAR(student_quantile(0.005, 4), 4.60409, 1e-5);
  EXPECT_NEAR(student_quantile(0.0005, 8), 5.04131, 1e-5);
  EXPECT_NEAR(student_quantile(0.025, 1e6), 1.95997, 1e-4);
  EXPECT_NEAR(student_quantile(0.5, 3), 0, 1e-9);
}

TEST(Comparison, the_ratio_and_its_interval) {
  Ratio const ratio = ratio_of_medians({1, 2, 3, 4, 5}, {2, 4, 6, 8, 10}, 0.05);
  EXPECT_EQ(ratio.value, 2);
  EXPECT_LT(ratio.low, 1);
  EXPECT_GT(ratio.high, 3);
  Ratio const even = ratio_of_medians({1, 3}, {4, 8}, 0.05);
  EXPECT_EQ(even.value, 3);
  // One launch gives no interval.
  Ratio const one = ratio_of_medians({1}, {2, 2, 2}, 0.05);
  EXPECT_EQ(one.value, 2);
  EXPECT_EQ(one.low, 0);
  EXPECT_TRUE(std::isinf(one.high));
  // Without spread the interval is a single value.
  Ratio const sure = ratio_of_medians({1, 1, 1}, {2, 2, 2}, 0.001);
  EXPECT_EQ(sure.low, 2);
  EXPECT_EQ(sure.high, 2);
  // The smaller the error rate, the wider the interval.
  std::vector<double> const a{1.00, 1.01, 0.99, 1.02, 0.98};
  Ratio const narrow = ratio_of_medians(a, a, 0.05);
  Ratio const wide = ratio_of_medians(a, a, 0.0001);
  EXPECT_LT(wide.low, narrow.low);
  EXPECT_GT(wide.high, narrow.high);
}

TEST(Comparison, verdicts) {
  EXPECT_EQ(judge({1.05, 1.01, 1.09}, 0.02), Verdict::slower);
  EXPECT_EQ(judge({1.05, 0.99, 1.09}, 0.02), Verdict::unclear);   // the interval holds 1
  EXPECT_EQ(judge({1.015, 1.01, 1.03}, 0.02), Verdict::unclear);  // the difference may be relevant or not
  EXPECT_EQ(judge({0.95, 0.92, 0.99}, 0.02), Verdict::faster);
  EXPECT_EQ(judge({0.985, 0.96, 0.99}, 0.02), Verdict::unclear);
  EXPECT_EQ(judge({1.01, 1.005, 1.019}, 0.02), Verdict::same);
  EXPECT_EQ(judge({1.0, 0.99, 1.01}, 0.02), Verdict::same);
  EXPECT_EQ(judge({1.0, 0.97, 1.01}, 0.02), Verdict::unclear);
  EXPECT_EQ(judge({1.0, 0, std::numeric_limits<double>::infinity()}, 0.02), Verdict::unclear);
}

// Simulated launches with known truth: each row has its time, each launch its own drift, and each row noise with a long
// tail like real noise.
class Made {
 public:
  explicit Made(std::uint64_t seed) : random_(seed) {}

  Launch launch(std::size_t rows, double noise, double slowdown = 1, std::size_t slow_rows = 0) {
    std::normal_distribution<double> normal(0, noise);
    std::bernoulli_distribution disturbed(0.05);
    std::exponential_distribution<double> disturbance(1 / (5 * noise));
    double const drift = std::exp(normal(random_) / 3);
    Launch result;
    for (std::size_t i = 0; i < rows; ++i) {
      double seconds = 1e-3 * static_cast<double>(i + 1) * drift * std::exp(normal(random_));
      if (disturbed(random_)) seconds *= 1 + disturbance(random_);
      if (i < slow_rows) seconds *= slowdown;
      LaunchRow row{"app", "variant" + std::to_string(i), "openmp", "float 2^24", true, false, seconds, 0.5 * drift};
      result.rows["row " + std::to_string(i)] = row;
    }
    result.build_type = "Release";
    return result;
  }

  std::vector<Launch> launches(std::size_t count, std::size_t rows, double noise, double slowdown = 1,
                               std::size_t slow_rows = 0) {
    std::vector<Launch> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(launch(rows, noise, slowdown, slow_rows));
    return all;
  }

 private:
  std::mt19937_64 random_;
};

TEST(Comparison, identical_builds_are_not_told_apart) {
  for (double const noise : {0.001, 0.02, 0.2}) {
    for (std::size_t const launches : {2, 5, 8}) {
      for (std::size_t const rows : {1, 20, 200}) {
        Made made(100 * launches + rows);
        std::size_t wrong = 0;
        std::size_t verdicts = 0;
        for (std::size_t i = 0; i < 1000 / rows; ++i) {
          Comparison const comparison =
              compare(made.launches(launches, rows, noise), made.launches(launches, rows, noise), {});
          wrong += comparison.count(Verdict::slower) + comparison.count(Verdict::faster);
          verdicts += comparison.rows.size();
        }
        EXPECT_LT(static_cast<double>(wrong), 0.01 * static_cast<double>(verdicts))
            << noise << " noise, " << launches << " launches, " << rows << " rows";
      }
    }
  }
}

TEST(Comparison, a_slowdown_is_found_and_named) {
  std::size_t found = 0;
  std::size_t others = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Made made(seed);
    auto const before = made.launches(5, 10, 0.005);
    auto const after = made.launches(5, 10, 0.005, 1.05, 1);
    Comparison const comparison = compare(before, after, {});
    for (ComparedRow const& row : comparison.rows) {
      bool const slow = row.row.variant == "variant0";
      if (slow && row.verdict == Verdict::slower) ++found;
      if (!slow && (row.verdict == Verdict::slower || row.verdict == Verdict::faster)) ++others;
    }
    // With exchanged sides the rows are faster by the same factor.
    for (ComparedRow const& row : compare(after, before, {}).rows) EXPECT_NE(row.verdict, Verdict::slower);
  }
  EXPECT_GE(found, 40u);
  EXPECT_EQ(others, 0u);
}

TEST(Comparison, launches_that_agree_are_the_same) {
  Made made(3);
  Comparison const comparison = compare(made.launches(10, 20, 0.001), made.launches(10, 20, 0.001), {});
  EXPECT_GE(comparison.count(Verdict::same), 18u);
  EXPECT_EQ(comparison.count(Verdict::same) + comparison.count(Verdict::unclear), 20u);
  EXPECT_TRUE(comparison.warnings.empty());
  EXPECT_NEAR(comparison.rows.front().of_roof.value, 1, 0.01);
}

// Among many rows some differ by chance: the same launches support weaker conclusions for one of 200 rows than for a
// single row.
// On a busy machine the medians differ from launch to launch; the least samples do not.
TEST(Comparison, the_least_samples_are_compared_on_request) {
  Made made(7);
  auto const busy = [&](double slowdown) {
    std::vector<Launch> launches = made.launches(6, 10, 0.3);
    for (Launch& launch : launches) {
      std::size_t i = 0;
      for (auto& [key, row] : launch.rows) row.least = 1e-4 * static_cast<double>(++i) * slowdown;
    }
    return launches;
  };
  auto const before = busy(1);
  EXPECT_EQ(compare(before, busy(1.1), {}).count(Verdict::slower), 0U);
  EXPECT_EQ(compare(before, busy(1.1), {.least = true}).count(Verdict::slower), 10U);
  EXPECT_EQ(compare(before, busy(1), {.least = true}).count(Verdict::same), 10U);
}

TEST(Comparison, many_rows_are_corrected_for) {
  Made made(6);
  auto const before = made.launches(5, 200, 0.01);
  auto const after = made.launches(5, 200, 0.01);
  auto const alone = [](std::vector<Launch> launches) {
    for (Launch& launch : launches) std::erase_if(launch.rows, [](auto const& row) { return row.first != "row 7"; });
    return launches;
  };
  ComparedRow const one = compare(alone(before), alone(after), {}).rows.front();
  Comparison const many = compare(before, after, {});
  auto const found =
      std::ranges::find_if(many.rows, [](ComparedRow const& row) { return row.row.variant == "variant7"; });
  ASSERT_NE(found, many.rows.end());
  EXPECT_EQ(found->time.value, one.time.value);
  EXPECT_LT(found->time.low, one.time.low);
  EXPECT_GT(found->time.high, one.time.high);
}

TEST(Comparison, rows_that_are_not_right_any_more) {
  Made made(4);
  auto const before = made.launches(5, 4, 0.2);
  auto after = before;
  after[2].rows["row 0"].verified = false;  // failed once
  for (Launch& launch : after) {
    launch.rows["row 1"].verified = false;
    launch.rows["row 1"].skipped = true;
    launch.rows.erase("row 2");
    launch.rows["row 9"] = launch.rows["row 3"];
  }
  Comparison const comparison = compare(before, after, {});
  EXPECT_EQ(comparison.last_line(), "TESSERA compare rows=4 slower=0 faster=0 same=0 unclear=1 unverified=3");
  EXPECT_EQ(comparison.only_new, 1u);
  EXPECT_EQ(comparison.only_old, 0u);
  // A row that was never right is not compared.
  Comparison const back = compare(after, before, {});
  EXPECT_EQ(back.rows.size(), 3u);
  EXPECT_EQ(back.count(Verdict::unverified), 1u);  // row 9 is gone
  EXPECT_EQ(back.only_new, 2u);
}

// A folder of a study: each report holds some of the rows.
TEST(Comparison, a_report_is_a_launch_of_what_its_command_asks_for) {
  Made made(7);
  std::vector<Launch> study;
  for (int repeat = 0; repeat < 5; ++repeat) {
    for (std::string const command : {"run a ", "run b ", "run b 4 ranks"}) {
      Launch launch = made.launch(3, 0.0001);
      Launch with_names = launch;
      with_names.asked = command;
      with_names.rows.clear();
      for (auto const& [key, row] : launch.rows) with_names.rows[command + key] = row;
      study.push_back(with_names);
    }
  }
  Comparison const copy = compare(study, study, {});
  EXPECT_EQ(copy.last_line(), "TESSERA compare rows=9 slower=0 faster=0 same=9 unclear=0 unverified=0");
  EXPECT_EQ(copy.fewest_of_a_row, 5u);
  EXPECT_EQ(copy.most_of_a_row, 5u);
  EXPECT_TRUE(copy.warnings.empty());
  EXPECT_TRUE(comparison_text(copy, false).starts_with("15 old launches, 15 new, 9 rows of 5 launches per side; "));
  for (ComparedRow const& row : copy.rows) EXPECT_EQ(row.new_launches, 5u);

  // One report of a command is missing: its rows have fewer launches, but they are not errors.
  auto fewer = study;
  fewer.erase(fewer.begin() + 1);
  Comparison const four = compare(study, fewer, {});
  EXPECT_EQ(four.count(Verdict::unverified), 0u);
  EXPECT_EQ(four.fewest_of_a_row, 4u);
  ASSERT_EQ(four.warnings.size(), 1u);
  EXPECT_EQ(four.warnings.front(),
            "3 of the rows have only 4 launches per side: take five or more, old and new in turns");
  EXPECT_TRUE(
      comparison_text(four, false).starts_with("15 old launches, 14 new, 9 rows of 4 to 5 launches per side; "));

  // One command lacks a row in one launch, one row failed in one launch, one row was skipped in one launch, and one
  // command is missing.
  auto after = study;
  after[0].rows.erase("run a row 0");
  after[3].rows["run a row 1"].verified = false;
  after[6].rows["run a row 2"].verified = false;
  after[6].rows["run a row 2"].skipped = true;
  std::erase_if(after, [](Launch const& launch) { return launch.asked == "run b 4 ranks"; });
  Comparison const lost = compare(study, after, {});
  EXPECT_EQ(lost.last_line(), "TESSERA compare rows=9 slower=0 faster=0 same=3 unclear=0 unverified=6");

  // An additional command with other rows changes nothing.
  auto more = study;
  Launch other = made.launch(1, 0.001);
  other.asked = "run c ";
  other.rows = {{"run c row", other.rows.begin()->second}};
  more.push_back(other);
  EXPECT_EQ(compare(study, more, {}).last_line(), copy.last_line());
  EXPECT_EQ(compare(study, more, {}).only_new, 1u);
}

TEST(Comparison, where_threads_ran_is_said) {
  Made made(8);
  auto before = made.launches(5, 2, 0.001);
  auto after = before;
  for (Launch& launch : before) launch.threads = "openmp 2 threads, processors 0-1, OMP_PROC_BIND=spread";
  // Reports of an older build do not contain the threads.
  EXPECT_TRUE(compare(after, before, {}).warnings.empty());
  for (Launch& launch : after) launch.threads = before.front().threads;
  EXPECT_TRUE(compare(before, after, {}).warnings.empty());
  EXPECT_NE(comparison_text(compare(before, after, {}), false).find("\nlaunches: openmp 2 threads, processors 0-1, "),
            std::string::npos);
  after[2].threads = "openmp 1 threads, processors 0, OMP_PROC_BIND=spread";
  Comparison const differ = compare(before, after, {});
  ASSERT_EQ(differ.warnings.size(), 1u);
  EXPECT_EQ(differ.warnings.front(), "old and new launches differ in their threads, or in the processors of these");
  std::string const text = comparison_text(differ, false);
  EXPECT_NE(text.find("\nold: openmp 2 threads, "), std::string::npos) << text;
  EXPECT_NE(text.find("\nnew: openmp 1 threads, processors 0, "), std::string::npos) << text;
}

TEST(Comparison, a_wide_interval_is_written_with_exponents) {
  ComparedRow row;
  row.time = {1, 1e-57, 1e57};
  Comparison wide;
  wide.rows.push_back(row);
  EXPECT_NE(comparison_text(wide, true).find("  1.000  0.000..1.0e+57  "), std::string::npos);
}

TEST(Comparison, a_self_test_takes_every_order_of_neighbours) {
  Made made(5);
  SelfTest const test = self_test(made.launches(10, 50, 0.01), {});
  EXPECT_EQ(test.comparisons, 32u);
  EXPECT_EQ(test.verdicts, 32u * 50);
  EXPECT_LT(test.rate(), 0.01);
  // Two different builds alternate instead of one: one of the orders separates them, and so does its opposite.
  std::vector<Launch> two;
  for (int i = 0; i < 10; ++i) two.push_back(made.launch(50, 0.001, i % 2 == 0 ? 1.0 : 1.5, 50));
  SelfTest const caught = self_test(two, {});
  EXPECT_GE(caught.wrong, 100u);
}

}  // namespace
}  // namespace tessera::comparison
