#pragma once
/// \file
/// Wrong variants must be caught: runs a variant that is not in the table through the same path as those that are. And
/// right ones that are not in the table must pass.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "harness.hpp"

#include <tessera/driver/driver.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera::testing {

enum class Where { everywhere, hosts };

/// What run_row says of each row of a variant on a random input: expected to hold `message`, never to be empty. A
/// missing barrier shows for sure only on hosts, whose threads the scheduler interrupts anywhere, and not on one thread.
template <class Problem, class Variant>
void expect_caught(std::size_t size, ParameterMap const& given, std::string const& message, int runs = 1,
                   Where where = Where::everywhere) {
  App const app = make_app<Problem>({rows<Problem, Variant>()});
  ASSERT_FALSE(app.rows.empty());
  for (Row const& row : app.rows) {
    if (!is_wanted(row)) continue;
    if (where == Where::hosts && (!is_host_space(row.space) || row.space == "serial")) continue;
    auto const problem_case = app.generate(row.dtype, size, 1, with_defaults(app, given));
    std::string const outcome = run_row(row, *problem_case, problem_case->reference(), runs);
    EXPECT_NE(outcome.find(message), std::string::npos)
        << name_of(app, row) << " of " << size << ": " << (outcome.empty() ? "passed" : outcome);
  }
}

/// That a kernel of a test is right where it makes no mistake: else its mistakes say nothing. What run_row says of each row of
/// the variant on a random input is expected to be nothing; a row may be skipped, but not all.
template <class Problem, class Variant>
void expect_right(std::size_t size, ParameterMap const& given, int runs = 1) {
  App const app = make_app<Problem>({rows<Problem, Variant>()});
  int wanted = 0;
  int passed = 0;
  for (Row const& row : app.rows) {
    if (!is_wanted(row)) continue;
    ++wanted;
    auto const problem_case = app.generate(row.dtype, size, 1, with_defaults(app, given));
    std::string const outcome = run_row(row, *problem_case, problem_case->reference(), runs);
    if (outcome.starts_with("skipped: ")) continue;
    EXPECT_EQ(outcome, "") << name_of(app, row) << " of " << size;
    ++passed;
  }
  EXPECT_TRUE(passed > 0 || wanted == 0) << "all rows were skipped";
}

/// What the driver says of each row of a variant, with the data and the options that a user has by default: right at the first
/// launch, and wrong after the samples.
template <class Problem, class Variant>
void expect_caught_later(std::size_t size) {
  App const app = make_app<Problem>({rows<Problem, Variant>()});
  ASSERT_FALSE(app.rows.empty());
  for (Row const& row : app.rows) {
    // One dtype shows of a large case what the others do.
    if (!is_wanted(row) || (size >= late_size() && row.dtype != app.rows.front().dtype)) continue;
    auto const problem_case = app.generate_data(row.dtype, size, 42, app.data.front(), with_defaults(app, {}));
    Oracle oracle;
    oracle.reference = problem_case->reference_by_parts();
    // What a large case shows after one sample it shows after ten.
    SamplingOptions sampling;
    if (size >= late_size()) sampling = {.warmup = 0, .samples = 1, .min_time = 0};
    Verified verified;
    auto const report =
        tessera::run_row(row, *problem_case, oracle, sampling, RowReport{}, [] { return false; }, {}, verified);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->status, Status::failed) << name_of(app, row) << " of " << size;
    EXPECT_TRUE(report->reason.starts_with("after ")) << name_of(app, row) << " of " << size << ": " << report->reason;
  }
}

/// What run_row says of each row of `app` on a random input of these shapes, by teams of the variant's choice, of 2 and of 3:
/// expected to be nothing. Rows that are not of this run, or are skipped, are left out.
inline void expect_passes(App const& app, std::vector<Shape> const& shapes) {
  PatternSource const source(app, Pattern::random, shapes);
  for (std::int64_t const team : {0, 2, 3}) {
    for (Row const& row : app.rows) {
      if (!is_wanted(row)) continue;
      auto const problem_case = app.read(row.dtype, source, with_defaults(app, {{"team", team}}));
      std::string const outcome = run_row(row, *problem_case, problem_case->reference(), 2);
      if (outcome.starts_with("skipped: ")) continue;
      std::string text;
      for (Shape const& shape : shapes) text += " " + to_string(shape);
      EXPECT_EQ(outcome, "") << name_of(app, row) << " of" << text << ", team " << team;
    }
  }
}

/// That all rows of `app` in float or double find `wanted`, the first output, on these fields, and that all of it is checked.
inline void expect_checked(App const& app, GivenFields const& source, ParameterMap const& given,
                           std::vector<double> const& wanted, double relative) {
  for (Row const& row : app.rows) {
    if (!is_wanted(row) || size_of(row.dtype) < 4 || arithmetic_of(row.dtype) == DType::int32) continue;
    auto const problem_case = app.read(row.dtype, source, with_defaults(app, given));
    std::vector<ExpectedField> const expected = problem_case->reference();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      double const found = expected[0].value[i];
      if (std::isnan(wanted[i])) {
        EXPECT_TRUE(std::isnan(found)) << i;
      } else if (std::isinf(wanted[i])) {
        EXPECT_TRUE(std::signbit(found) == std::signbit(wanted[i]) && !std::isnan(found)) << i << ": " << found;
      } else {
        EXPECT_LE(std::abs(found - wanted[i]), relative * std::abs(wanted[i])) << i << ": " << found;
      }
      EXPECT_TRUE(expected[0].scale.empty() || std::isfinite(expected[0].scale[i])) << i << " is not checked";
    }
    std::string const outcome = run_row(row, *problem_case, expected, 2);
    if (outcome.starts_with("skipped: ")) continue;
    EXPECT_EQ(outcome, "") << name_of(app, row);
  }
}

/// That no row of `app` is weak on these fields where atomics flush denormals.
inline void expect_never_weak(App const& app, GivenFields const& source, ParameterMap const& given) {
  for (Row const& row : app.rows) {
    if (!is_wanted(row)) continue;
    auto const problem_case = app.read(row.dtype, source, with_defaults(app, given));
    std::string const outcome = verdict_of(row, *problem_case, problem_case->reference(), true);
    if (outcome.starts_with("skipped: ")) continue;
    EXPECT_EQ(outcome, "") << name_of(app, row);
  }
}

}  // namespace tessera::testing
