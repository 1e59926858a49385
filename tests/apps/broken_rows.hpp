#pragma once
/// \file
/// Runs variants that are not in the table through the same path as those that are: wrong ones must be caught, and
/// right ones must pass.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "harness.hpp"

#include <tessera/driver/driver.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera::testing {

enum class Where { everywhere, hosts };

/// Expects what run_row reports for each row of a variant on a random input to contain `message`, and never to be
/// empty. A missing barrier shows reliably only on hosts, whose scheduler interrupts threads anywhere, and not with one
/// thread.
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

/// Expects run_row to report nothing for each row of the variant on a random input: a test's kernel must be right
/// without its mistake. Rows may be skipped, but not all.
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

/// Checks the driver's verdict for each row of the variants, with a user's default data and options: right at the first
/// launch, wrong after the samples.
template <class Problem, class... Variants>
void expect_caught_later(std::size_t size) {
  App const app = make_app<Problem>({rows<Problem, Variants>()...});
  ASSERT_FALSE(app.rows.empty());
  for (DType const dtype : dtypes_of_this_build()) {
    // For a large case one dtype is enough.
    if (size >= late_size() && dtype != app.rows.front().dtype) continue;
    std::unique_ptr<Case> problem_case;  // for all rows
    Oracle oracle;
    for (Row const& row : app.rows) {
      if (row.dtype != dtype || !is_wanted(row)) continue;
      if (!problem_case) {
        problem_case = app.generate_data(dtype, size, 42, app.data.front(), with_defaults(app, {}));
        oracle.reference = problem_case->reference_by_parts();
      }
      // What a large case shows after one sample it shows after ten.
      SamplingOptions sampling;
      if (size >= late_size()) sampling = {.warmup = 0, .samples = 1, .min_time = 0};
      Verified verified;
      auto const report =
          tessera::run_row(row, *problem_case, oracle, sampling, RowReport{}, [] { return false; }, {}, verified);
      ASSERT_TRUE(report);
      EXPECT_EQ(report->status, Status::failed) << name_of(app, row) << " of " << size;
      EXPECT_TRUE(report->reason.starts_with("after "))
          << name_of(app, row) << " of " << size << ": " << report->reason;
    }
  }
}

/// Expects run_row to report nothing for each row of `app` on a random input of these shapes, with the default team
/// size and teams of 2 and of 3. Ignores rows that are skipped or not part of this run.
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

/// Expects all rows of `app` in float or double to find `wanted`, the first output, on these fields, and to check all
/// of it.
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

/// Expects that no row of `app` is weak on these fields if atomics flush denormals.
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
