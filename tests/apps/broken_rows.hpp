#pragma once
/// \file
/// Runs callables and variants that are not in the table through the same path as its rows: wrong ones must be caught,
/// and right ones must pass.

#include <gtest/gtest.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "all_apps.hpp"
#include "harness.hpp"
#include "mistake_spaces.hpp"

#include <tessera/driver/driver.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera::testing {

enum class Where { everywhere, hosts };

/// Returns the mini-app of this program with these variants in the place of its own.
[[nodiscard]] inline App app_with(std::vector<VariantRows> const& variants) {
  return with_rows(all_apps().front(), variants);
}

/// The same with one variant. (Of `{x}` in a template, nvcc hands `x` to the host's compiler.)
[[nodiscard]] inline App app_with(VariantRows const& variant) { return app_with(std::vector<VariantRows>{variant}); }

/// True unless the callable says `static constexpr bool deterministic = false`.
template <class Call>
inline constexpr bool is_deterministic = true;
template <class Call>
  requires(!Call::deterministic)
inline constexpr bool is_deterministic<Call> = false;

/// A variant whose Plan is a copy of a callable `(exec, input, output)`, with its outputs(), reduced_precision() and
/// atomic_sums if it has them.
template <class Problem, class Call>
struct Calling {
  static constexpr VariantInfo info{.name = "callable", .summary = "a test's", .deterministic = is_deterministic<Call>};
  static inline std::optional<Call> call;  // of Plans that are constructed from here on
  template <ExecutionSpace Exec, class T>
    requires shows_mistakes<Exec> &&
             std::invocable<Call&, Exec const&, InputOn<Problem, Exec, T> const&, OutputOn<Problem, Exec, T> const&>
  struct Plan : Call {
    Plan(Exec const&, InputOn<Problem, Exec, T> const&) : Call(*call) {}
  };
};

/// Returns the rows of a variant or of a callable. Rows of the same callable's type call the last value.
template <class Problem, class Tested>
[[nodiscard]] VariantRows rows_of(Tested const& tested) {
  if constexpr (Described<Tested>) {
    return rows<Problem, Tested>();
  } else {
    Calling<Problem, Tested>::call.emplace(tested);
    return rows<Problem, Calling<Problem, Tested>>();
  }
}

/// A callable that writes only one field of the output.
template <class Call>
struct Writing : Call {
  std::string_view field;
  [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = std::string(field)}}; }
};
template <class Call>
[[nodiscard]] Writing<Call> writes(std::string_view field, Call const& call) {
  return {call, field};
}

/// Expects what run_row reports for each row of a wrong callable `(exec, input, output)`, or of a wrong variant, on a
/// random input to be a wrong result that contains `message`. A missing barrier shows reliably only on hosts, whose
/// scheduler interrupts threads anywhere, and not with one thread.
template <class Problem, class Wrong>
void expect_caught(Wrong const& wrong, std::size_t size, ParameterMap const& given, std::string const& message,
                   int runs = 1, Where where = Where::everywhere) {
  App const app = app_with({rows_of<Problem>(wrong)});
  ASSERT_FALSE(app.rows.empty());
  int tried = 0;
  for (Row const& row : app.rows) {
    if (!is_wanted(row)) continue;
    if (where == Where::hosts && (!is_host_space(row.space) || row.space == "serial")) continue;
    ++tried;
    auto const problem_case = app.generate(row.dtype, size, 1, with_defaults(app, given));
    std::string const outcome = run_row(row, *problem_case, problem_case->reference(), runs);
    EXPECT_TRUE(is_wrong_result(outcome) && outcome.find(message) != std::string::npos)
        << name_of(app, row) << " of " << size << ": " << (outcome.empty() ? "passed" : outcome);
  }
  EXPECT_TRUE(tried > 0 || where == Where::hosts || std::getenv("TESSERA_TEST_SPACE") != nullptr) << "no row was run";
}

/// Expects a wrong callable to give a wrong result with each of these mistakes, for all dtypes and spaces (of a large
/// case for one of each), on this data. They share the case of a dtype. If `of_floats()` of one of them is true,
/// integers are left out.
template <class Problem, class Wrong, class Mistake>
void expect_all_caught(std::initializer_list<Mistake> mistakes, std::size_t size, DataKind data,
                       ParameterMap const& given) {
  App const app = all_apps().front();
  std::vector<Wrong> wrong;
  bool of_floats = false;
  for (Mistake const mistake : mistakes) {
    wrong.push_back({mistake});
    if constexpr (requires(Wrong const& one) { one.of_floats(); }) of_floats = of_floats || wrong.back().of_floats();
  }
  bool const is_large = size >= late_size();
  std::size_t tried = 0;
  bool has_dtype = false;
  for (DType const dtype : dtypes_of_this_build()) {
    if (is_large && tried > 0) break;
    if (of_floats && unit_roundoff(dtype) == 0) continue;
    has_dtype = true;
    auto const problem_case = app.generate_data(dtype, size, 42, data, with_defaults(app, given));
    std::vector<ExpectedField> const expected = problem_case->reference();
    std::string space;
    for (std::size_t i = 0; i < wrong.size(); ++i) {
      for (Row const& row : rows_of<Problem>(wrong[i]).rows) {
        if (row.dtype != dtype || !is_wanted(row)) continue;
        if (space.empty()) space = row.space;
        if (is_large && row.space != space) continue;
        ++tried;
        std::string const outcome = run_row(row, *problem_case, expected, 1);
        EXPECT_TRUE(is_wrong_result(outcome)) << name_of(app, row) << " of " << size << ", mistake number " << i << ": "
                                              << (outcome.empty() ? "passed" : outcome);
      }
    }
  }
  EXPECT_TRUE(tried > 0 || !has_dtype || std::getenv("TESSERA_TEST_SPACE") != nullptr) << "no row was run";
}

/// Expects run_row to report nothing for each row of a callable or variant on a random input: a test's kernel must be
/// right without its mistake. Rows may be skipped, but not all.
template <class Problem, class Right>
void expect_right(Right const& right, std::size_t size, ParameterMap const& given, int runs = 1) {
  App const app = app_with({rows_of<Problem>(right)});
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

/// Checks the driver's verdict for each row of the callables or variants, with a user's default data and options: right
/// at the first launch, wrong after the samples.
template <class Problem, class... Wrong>
void expect_caught_later(std::size_t size, Wrong const&... wrong) {
  App const app = app_with({rows_of<Problem>(wrong)...});
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
