// Every row of every mini-app: sizes around the edges of lanes, teams and tiles, patterns of values, parameters.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tessera/table/kernel_use.hpp>
#include <tessera/table/runtime.hpp>

#include "all_apps.hpp"
#include "app_cases.hpp"
#include "harness.hpp"

namespace tessera::testing {
namespace {

std::vector<App> const& apps() {
  static std::vector<App> const all = all_apps();
  return all;
}

// The driver believes it when it decides whether a case fits into memory.
void expect_footprint(App const& app, std::vector<ExpectedField> const& reference, double known) {
  std::size_t doubles = 0;
  for (ExpectedField const& field : reference) {
    doubles += field.value.size() + field.scale.size() + field.offset.size() + field.bfloat16_scale.size() +
               field.bfloat16_offset.size() + field.random_scale.size() + field.random_spread.size();
  }
  EXPECT_LE(static_cast<double>(doubles * sizeof(double)), known) << app.info.name;
}

// Runs all rows of the dtype on one input.
void run_rows(App const& app, DType dtype, FieldSource const& source, ParameterMap const& given, int runs,
              std::string const& what) {
  if (!takes(app, dtype, given, 1 << 17)) return;  // a size that all shapes fit into
  auto const problem_case = app.read(dtype, source, with_defaults(app, given));
  std::vector<ExpectedField> const expected = problem_case->reference();
  expect_footprint(app, expected, app.footprint_of_source(dtype, source, with_defaults(app, given)).reference_bytes);
  for (Row const& row : app.rows) {
    if (row.dtype != dtype || !is_wanted(row)) continue;
    std::string const outcome = run_row(row, *problem_case, expected, runs);
    if (outcome.starts_with("skipped: ")) continue;
    EXPECT_EQ(outcome, "") << name_of(app, row) << " on " << what;
  }
}

std::string text_of(ParameterMap const& map) {
  std::string text;
  for (auto const& [name, value] : map) {
    text += " " + name + "=";
    std::visit(
        [&]<class T>(T const& v) {
          if constexpr (std::is_same_v<T, std::string>) {
            text += v;
          } else {
            text += std::to_string(v);
          }
        },
        value);
  }
  return text;
}

class Rows : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static App const& app() { return apps().at(GetParam()); }

  ParameterMap const base_ = app_cases().base;
};

constexpr std::size_t small_sizes[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025};
constexpr std::size_t large_sizes[] = {(1u << 16) - 1, 1u << 16, (1u << 16) + 1, (1u << 20) + 3};

TEST_P(Rows, SizesAndPatterns) {
  for (DType const dtype : dtypes_of_this_build()) {
    for (Pattern const pattern : finite_patterns) {
      for (std::size_t const size : small_sizes) {
        run_rows(app(), dtype, PatternSource(app(), pattern, size, base_), base_, 2,
                 name_of(pattern) + " of " + std::to_string(size));
      }
      for (std::size_t const size : large_sizes) {
        if (!is_wanted(size)) continue;
        run_rows(app(), dtype, PatternSource(app(), pattern, size, base_), base_, 1,
                 name_of(pattern) + " of " + std::to_string(size));
      }
    }
  }
}

// An empty case has one right result: no row is weak on any space.
TEST_P(Rows, EmptyCasesAreNeverWeak) {
  for (DType const dtype : dtypes_of_this_build()) {
    if (!takes(app(), dtype, base_, 0)) continue;
    PatternSource const source(app(), Pattern::random, 0, base_);
    auto const problem_case = app().read(dtype, source, with_defaults(app(), base_));
    std::vector<ExpectedField> const expected = problem_case->reference();
    for (Row const& row : app().rows) {
      if (row.dtype != dtype || !is_wanted(row)) continue;
      std::string const outcome = verdict_of(row, *problem_case, expected, false);
      if (outcome.starts_with("skipped: ")) continue;
      EXPECT_EQ(outcome, "") << name_of(app(), row);
    }
  }
}

TEST_P(Rows, NotFinite) {
  for (DType const dtype : dtypes_of_this_build()) {
    for (Pattern const pattern : special_patterns) {
      for (std::size_t const size :
           {std::size_t{1}, std::size_t{2}, std::size_t{65}, std::size_t{1025}, std::size_t{70001}}) {
        run_rows(app(), dtype, PatternSource(app(), pattern, size, base_), base_, 1,
                 name_of(pattern) + " of " + std::to_string(size));
      }
    }
  }
}

// A tile or a segment of one or two elements, worked on by several threads with fewer processors than threads, is mostly
// barriers at which a thread waits until the other gets a processor: of such tiles a few hundred. They are enough for several
// levels, too, and the same tiles by one thread come in thousands.
std::size_t most_elements(ParameterMap const& map) {
  auto const value = [&](char const* name) {
    auto const found = map.find(name);
    return found == map.end() ? Int{0} : std::get<Int>(found->second);
  };
  std::size_t most = std::size_t{1} << 20;
  if (value("team") < 2) return most;
  for (char const* const of : {"tile", "segment"}) {
    if (value(of) > 0) most = std::min(most, 300 * static_cast<std::size_t>(value(of)));
  }
  return most;
}

// All sizes with all dtypes are SizesAndPatterns'; what parameters do, the first dtype shows on all sizes, the others on a few.
TEST_P(Rows, Parameters) {
  std::vector<std::size_t> const all(std::begin(small_sizes), std::end(small_sizes));
  for (DType const dtype : dtypes_of_this_build()) {
    bool const first = dtype == dtypes_of_this_build().front();
    for (ParameterMap const& map : app_cases().parameters) {
      for (std::size_t const size : first ? all : std::vector<std::size_t>{1, 33, 257, 1025}) {
        if (size > most_elements(map) || !takes(app(), dtype, map, size)) continue;
        run_rows(app(), dtype, PatternSource(app(), Pattern::random, size, map), map, 1,
                 std::to_string(size) + text_of(map));
      }
      std::size_t const most = most_elements(map);
      std::size_t const wide = std::min<std::size_t>(5003, most);
      run_rows(app(), dtype, PatternSource(app(), Pattern::huge_range, wide, map), map, 1,
               std::to_string(wide) + text_of(map));
      // Enough tiles for several levels, and for teams to overtake each other.
      bool const small_tiles = map.contains("tile");
      std::size_t const size = std::min<std::size_t>(small_tiles ? 3001 : 70001, most);
      run_rows(app(), dtype, PatternSource(app(), Pattern::random, size, map), map, 2,
               std::to_string(size) + text_of(map));
    }
  }
}

// The driver compares a row's results with right ones that it kept where they lie (decision 13). Each row's must be the same as
// themselves, and other than none.
TEST_P(Rows, ResultsAreKept) {
  for (DType const dtype : dtypes_of_this_build()) {
    if (!takes(app(), dtype, base_, 1 << 17)) continue;
    auto const problem_case =
        app().read(dtype, PatternSource(app(), Pattern::random, 5003, base_), with_defaults(app(), base_));
    for (Row const& row : app().rows) {
      if (row.dtype != dtype || !is_wanted(row)) continue;
      try {
        std::unique_ptr<RowRun> const run = row.start(*problem_case);
        run->poison();
        run->enqueue();
        run->fence();
        ASSERT_TRUE(run->keep()) << name_of(app(), row);
        EXPECT_TRUE(run->same_as_kept()) << name_of(app(), row);
        run->poison();
        EXPECT_FALSE(run->same_as_kept()) << name_of(app(), row) << ": poison passes for its results";
        run->enqueue();
        run->fence();
        if (row.info.deterministic) {
          EXPECT_TRUE(run->same_as_kept()) << name_of(app(), row);
        }
      } catch (Skip const&) {
        continue;
      }
    }
  }
}

// Extents that no run can mean (--kernel 2^31, --k 2^31 beside a small size) are a mistake that is said before anything is
// made: the extent is refused, or its bytes are known.
TEST_P(Rows, ExtentsAreKnownBeforehand) {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  DType const dtype = dtypes_of_this_build().front();
  if (!takes(app(), dtype, base_)) GTEST_SKIP();
  for (ParameterSpec const& spec : app().parameters) {
    if (!spec.shapes_generated || !std::holds_alternative<std::int64_t>(spec.default_value)) continue;
    ParameterMap given = base_;
    given[spec.name] = huge;
    try {
      Footprint const footprint = app().footprint_of_size(dtype, 64, with_defaults(app(), given));
      EXPECT_GE(footprint.input_bytes + footprint.output_bytes, static_cast<double>(huge)) << spec.name;
    } catch (UserError const&) {  // refused
    }
  }
}

// What the generator makes, of each kind. Exact data must be proved to be so, unless the mini-app rounds whatever the data.
TEST_P(Rows, KindsOfData) {
  for (DType const dtype : dtypes_of_this_build()) {
    if (!takes(app(), dtype, base_, 1 << 17)) continue;
    for (DataKind const kind : app().data) {
      for (std::size_t const size :
           {std::size_t{0}, std::size_t{1}, std::size_t{33}, std::size_t{1025}, std::size_t{70001}}) {
        auto const problem_case = app().generate_data(dtype, size, 42, kind, with_defaults(app(), base_));
        std::vector<ExpectedField> const expected = problem_case->reference();
        Footprint const footprint = app().footprint_of_size(dtype, size, with_defaults(app(), base_));
        expect_footprint(app(), expected,
                         kind == DataKind::exact ? footprint.exact_reference_bytes : footprint.reference_bytes);
        std::string const what = std::string(tessera::name_of(kind)) + " data of " + std::to_string(size);
        for (Row const& row : app().rows) {
          if (row.dtype != dtype || !is_wanted(row)) continue;
          std::string const outcome = run_row(row, *problem_case, expected, 1);
          if (outcome.starts_with("skipped: ")) continue;
          EXPECT_EQ(outcome, "") << name_of(app(), row) << " on " << what;
        }
        bool const rounds = app().info.name == "softmax" || app().info.name == "attention" ||
                            app().info.name == "moving_average" || app().info.name == "roofline";
        if (kind != DataKind::exact || rounds) continue;
        for (ExpectedField const& field : expected) {
          EXPECT_TRUE(std::ranges::all_of(field.scale, [](double scale) { return scale == 0; }))
              << field.name << " of " << what;
        }
      }
    }
  }
}

// Shapes and parameters drawn at random: windows wider than the input, one row, one column, nothing at all.
TEST_P(Rows, RandomShapes) {
  int drawn = 0;
  for (DType const dtype : dtypes_of_this_build()) {
    for (std::uint64_t draw = 0; draw < 220; ++draw) {
      RandomCase const random = random_case(app(), draw);
      if (!takes(app(), dtype, random.parameters)) continue;
      std::string what = "draw " + std::to_string(draw) + ":";
      for (Shape const& shape : random.shapes) what += " " + to_string(shape);
      run_rows(app(), dtype, PatternSource(app(), Pattern::random, random.shapes), random.parameters, 1,
               what + text_of(random.parameters));
      ++drawn;
    }
  }
  EXPECT_GE(drawn, 200);
}

// A race shows now and then: many runs of one Plan, on sizes that fill no tile, by teams of one thread, as hosts choose
// them, and of four.
TEST_P(Rows, RepeatedRuns) {
  ParameterMap of_four = base_;
  bool const has_team = std::any_of(app().parameters.begin(), app().parameters.end(),
                                    [](ParameterSpec const& spec) { return spec.name == "team"; });
  if (has_team) of_four["team"] = std::int64_t{4};
  for (DType const dtype : dtypes_of_this_build()) {
    for (std::size_t const size : {std::size_t{4099}, std::size_t{100003}}) {
      PatternSource const source(app(), Pattern::random, size, base_);
      run_rows(app(), dtype, source, base_, repeats(20), std::to_string(size) + " repeatedly");
      if (has_team) run_rows(app(), dtype, source, of_four, repeats(20), std::to_string(size) + " by teams of four");
    }
  }
}

// On a GPU each row says which kernels it launched, and what they take; on a host there are none to be seen.
TEST_P(Rows, KernelsAsLaunched) {
  for (DType const dtype : dtypes_of_this_build()) {
    PatternSource const source(app(), Pattern::random, 100003, base_);
    if (!takes(app(), dtype, base_, 1 << 17)) continue;
    auto const problem_case = app().read(dtype, source, with_defaults(app(), base_));
    for (Row const& row : app().rows) {
      if (row.dtype != dtype || !is_wanted(row)) continue;
      std::unique_ptr<RowRun> run;
      try {
        run = row.start(*problem_case);
      } catch (Skip const&) {
        continue;
      }
      std::vector<KernelUse> const kernels = kernels_of([&] { run->enqueue(); });
      run->fence();
      std::string const what = name_of(app(), row);
      bool const shared = row.info.level == Level::library;  // of a library that may launch its kernels itself
      EXPECT_TRUE(is_host_space(row.space) ? kernels.empty() : shared || !kernels.empty()) << what;
      for (KernelUse const& kernel : kernels) {
        EXPECT_GT(kernel.launches, 0u) << what;
        EXPECT_GT(kernel.teams, 0u) << what;
        EXPECT_GT(kernel.team_threads, 0u) << what;
        EXPECT_GT(kernel.registers, 0) << what;
        EXPECT_GT(kernel.teams_per_multiprocessor, 0) << what;
        EXPECT_GT(kernel.occupancy, 0.0) << what;
        EXPECT_LE(kernel.occupancy, 1.0) << what;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(App, Rows, ::testing::Range(std::size_t{0}, apps().size()),
                         [](::testing::TestParamInfo<std::size_t> const& info) {
                           return std::string(apps().at(info.param).info.name);
                         });

}  // namespace
}  // namespace tessera::testing
