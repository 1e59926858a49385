// Every row of every mini-app: sizes around the edges of lanes, teams and tiles, patterns of values, parameters.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>
#include <tessera/core/host_threads.hpp>
#include <tessera/table/kernel_use.hpp>
#include <tessera/table/runtime.hpp>
#include <tessera/verify/compact.hpp>
#include <tessera/verify/verify.hpp>

#include "all_apps.hpp"
#include "app_cases.hpp"
#include "harness.hpp"

namespace tessera::testing {
namespace {

std::vector<App> const& apps() {
  static std::vector<App> const all = all_apps();
  return all;
}

// The driver relies on this estimate when it decides whether a case fits into memory.
void expect_footprint(App const& app, std::vector<ExpectedField> const& reference, double known) {
  std::size_t doubles = 0;
  std::size_t floats = 0;
  std::size_t moved = 0;
  for (ExpectedField const& field : reference) {
    doubles += field.value.size() + field.scale.size() + field.offset.size() + field.bfloat16_scale.size() +
               field.bfloat16_offset.size() + field.random_scale.size() + field.random_spread.size();
    if (field.narrow != nullptr) floats += count_of(field.shape);
    if (field.compact != nullptr) floats += 2 * count_of(field.shape);
    moved += field.moved.data != nullptr ? field.moved.bytes() : 0;
  }
  EXPECT_LE(static_cast<double>(doubles * sizeof(double) + floats * sizeof(float) + moved), known) << app.info.name;
}

// Runs all rows of the dtype on one input.
void run_rows(App const& app, DType dtype, PatternSource const& source, ParameterMap const& given, int runs,
              std::string const& what) {
  if (!takes(app, dtype, given, 1 << 17)) return;  // every shape fits into this size
  ParameterMap const parameters = with_defaults(app, given, source.size());
  auto const problem_case = app.read(dtype, source, parameters);
  std::vector<ExpectedField> const expected = problem_case->reference_by_parts();
  expect_footprint(app, expected, app.footprint_of_source(dtype, source, parameters).reference_bytes);
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

// Knows which cases a test has had: sizes are the same case if the parameters give all extents.
class Cases {
 public:
  [[nodiscard]] bool is_new(App const& app, Pattern pattern, std::size_t size, ParameterMap const& given) {
    ParameterMap const map = with_defaults(app, given, size);
    return had_.emplace(pattern, app.input_shapes(size, map), map).second;
  }

 private:
  std::set<std::tuple<Pattern, std::vector<Shape>, ParameterMap>> had_;
};

constexpr std::size_t small_sizes[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025};
constexpr std::size_t large_sizes[] = {(1u << 16) - 1, 1u << 16, (1u << 16) + 1, (1u << 20) + 3};

TEST_P(Rows, SizesAndPatterns) {
  for (DType const dtype : dtypes_of_this_build()) {
    Cases cases;
    for (Pattern const pattern : finite_patterns) {
      for (std::size_t const size : small_sizes) {
        if (!cases.is_new(app(), pattern, size, base_)) continue;
        run_rows(app(), dtype, PatternSource(app(), pattern, size, base_), base_, 2,
                 name_of(pattern) + " of " + std::to_string(size));
      }
      // Other dtypes meet large sizes with two of the patterns, and small sizes with all of them.
      bool const first = dtype == dtypes_of_this_build().front();
      if (!first && pattern != Pattern::random && pattern != Pattern::huge_range) continue;
      for (std::size_t const size : large_sizes) {
        // The largest size meets three of the patterns: what the others show does not depend on it.
        bool const of_all_sizes =
            pattern == Pattern::zeros || pattern == Pattern::random || pattern == Pattern::huge_range;
        if (!is_wanted(size) || (size == std::end(large_sizes)[-1] && !of_all_sizes)) continue;
        if (!cases.is_new(app(), pattern, size, base_)) continue;
        run_rows(app(), dtype, PatternSource(app(), pattern, size, base_), base_, 1,
                 name_of(pattern) + " of " + std::to_string(size));
      }
    }
  }
}

// An empty case has exactly one right result, so no row may be weak on any space.
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

// Very small tiles and segments with several threads per team consist mostly of barriers. If there are fewer processors
// than threads, each barrier waits for a time slice. A hundred of these tiles suffice, also for several levels; the
// same tiles with one thread are tested by the thousand.
std::size_t most_elements(ParameterMap const& map) {
  auto const value = [&](char const* name) {
    auto const found = map.find(name);
    return found == map.end() ? Int{0} : std::get<Int>(found->second);
  };
  std::size_t most = std::size_t{1} << 20;
  if (value("team") < 2) return most;
  for (char const* const of : {"tile", "segment"}) {
    if (value(of) > 0) most = std::min(most, 100 * static_cast<std::size_t>(value(of)));
  }
  return most;
}

// SizesAndPatterns tests all sizes with all dtypes. Here the first dtype tests the parameters on all sizes, the others
// on a few. Teams of several threads have few sizes, too: their barriers are slow on busy processors.
TEST_P(Rows, Parameters) {
  std::vector<std::size_t> const all(std::begin(small_sizes), std::end(small_sizes));
  for (DType const dtype : dtypes_of_this_build()) {
    bool const first = dtype == dtypes_of_this_build().front();
    Cases cases;
    for (ParameterMap const& map : app_cases().parameters) {
      bool const in_teams = map.contains("team") && std::get<Int>(map.at("team")) > 1;
      for (std::size_t const size : first && !in_teams ? all : std::vector<std::size_t>{1, 33, 257, 1025}) {
        if (size > most_elements(map) || !takes(app(), dtype, map, size)) continue;
        if (!cases.is_new(app(), Pattern::random, size, map)) continue;
        run_rows(app(), dtype, PatternSource(app(), Pattern::random, size, map), map, 1,
                 std::to_string(size) + text_of(map));
      }
      std::size_t const most = most_elements(map);
      std::size_t const wide = std::min<std::size_t>(5003, most);
      run_rows(app(), dtype, PatternSource(app(), Pattern::huge_range, wide, map), map, 1,
               std::to_string(wide) + text_of(map));
      // Enough tiles for several levels and for teams that overtake each other: for one dtype.
      if (!first) continue;
      bool const small_tiles = map.contains("tile");
      std::size_t const size = std::min<std::size_t>(small_tiles ? 3001 : in_teams ? 12007 : 70001, most);
      run_rows(app(), dtype, PatternSource(app(), Pattern::random, size, map), map, 2,
               std::to_string(size) + text_of(map));
    }
  }
}

// On a GPU the driver compares a row's results with kept right results in the row's own memory, on a host it reads them
// there (decision 13). Results must equal their own copy and differ from poison.
TEST_P(Rows, ResultsAreKept) {
  for (DType const dtype : dtypes_of_this_build()) {
    if (!takes(app(), dtype, base_, 1 << 17)) continue;
    auto const problem_case =
        app().read(dtype, PatternSource(app(), Pattern::random, 5003, base_), with_defaults(app(), base_, 5003));
    for (Row const& row : app().rows) {
      if (row.dtype != dtype || !is_wanted(row)) continue;
      try {
        std::unique_ptr<RowRun> const run = row.start(*problem_case);
        run->poison();
        run->enqueue();
        run->fence();
        if (is_host_space(row.space)) {
          EXPECT_FALSE(run->keep()) << name_of(app(), row);
          std::vector<HostField> const copies = run->fetch();
          std::vector<HostField> const results = run->results();
          auto const differ = [&](std::size_t f) {
            if (!copies[f].data) return false;  // the row does not write this field
            return copies[f].data == results[f].data || !same_bits(copies[f], results[f]);
          };
          ASSERT_EQ(results.size(), copies.size());
          for (std::size_t f = 0; f < results.size(); ++f) EXPECT_FALSE(differ(f)) << name_of(app(), row);
          run->poison();
          for (std::size_t f = 0; f < results.size(); ++f) {
            EXPECT_EQ(copies[f].bytes() > 0 && copies[f].data, differ(f)) << name_of(app(), row) << ": poison passes";
          }
          continue;
        }
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

// Names of options are words of lower-case letters and digits, joined by dashes.
TEST_P(Rows, OptionsAreSpeltWithDashes) {
  for (ParameterSpec const& spec : app().parameters) {
    EXPECT_EQ(spec.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << spec.name;
  }
}

// Nonsensical extents (--kernel 2^31, or --k 2^31 beside a small size) must be detected before anything is allocated:
// either the extent is refused, or its memory use is known.
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

// Labels of the launched kernels.
std::vector<std::string> labels;
void note_label(char const* name, std::uint32_t, std::uint64_t* id) {
  *id = 0;
  labels.emplace_back(name);
}

// A profiler must see exactly the kernels of a row in the row's region, which encloses its launches. Kernels that a
// Plan launches while it is made have other names. Only the constructor may skip: on several ranks, the others would
// wait for a rank whose call does.
TEST_P(Rows, MakingAPlanLaunchesNoKernelOfTheRow) {
  namespace tools = Kokkos::Tools::Experimental;
  auto const before = tools::get_callbacks();
  for (DType const dtype : dtypes_of_this_build()) {
    if (!takes(app(), dtype, base_, 1 << 17)) continue;
    auto const problem_case =
        app().read(dtype, PatternSource(app(), Pattern::random, 5003, base_), with_defaults(app(), base_, 5003));
    for (Row const& row : app().rows) {
      if (row.dtype != dtype || !is_wanted(row)) continue;
      labels.clear();
      tools::set_begin_parallel_for_callback(note_label);
      tools::set_begin_parallel_reduce_callback(note_label);
      tools::set_begin_parallel_scan_callback(note_label);
      std::unique_ptr<RowRun> run;
      try {
        run = row.start(*problem_case);
      } catch (Skip const&) {  // perhaps after it has read the input
      }
      std::size_t const of_start = labels.size();
      try {
        if (run) run->enqueue();
      } catch (Skip const& skip) {
        ADD_FAILURE() << name_of(app(), row) << ": the call threw Skip (" << skip.what()
                      << "); throw it in the constructor of a Plan";
        run.reset();
      }
      if (run) run->fence();
      tools::set_callbacks(before);
      std::string const own = "tessera::" + std::string(app().info.name) + "::" + std::string(row.info.name) + "::";
      auto const is_own = [&](std::string const& label) { return (label + "::").starts_with(own); };
      EXPECT_EQ(std::count_if(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(of_start), is_own), 0)
          << name_of(app(), row);
      bool const shared = row.info.level == Level::library;  // a library has its own kernel names, or none
      EXPECT_TRUE(!run || shared || std::ranges::any_of(labels, is_own)) << name_of(app(), row);
    }
  }
}

// More threads than a team of the space allows, and very large tiles: the row is skipped or right. Kokkos' host teams
// have at most 64 threads, which shows only on a space with more threads (the test team_limit_<app> has 70).
TEST_P(Rows, TeamsAndTilesAboveTheLimit) {
  for (DType const dtype : dtypes_of_this_build()) {
    for (ParameterSpec const& spec : app().parameters) {
      if (!spec.sweep || spec.name == "blocks") continue;  // blocks are launches: no limit of a team
      std::vector<Int> values{static_cast<Int>(spec.maximum), static_cast<Int>(spec.maximum) - 1};
      if (spec.name == "team") values.insert(values.end(), {64, 65, 66, 513});
      for (Int const value : values) {
        ParameterMap map = base_;
        map[spec.name] = value;
        for (std::size_t const size : {std::size_t{0}, std::size_t{33}, std::size_t{1025}}) {
          if (!takes(app(), dtype, map, size)) continue;
          run_rows(app(), dtype, PatternSource(app(), Pattern::random, size, map), map, 1,
                   std::to_string(size) + text_of(map));
        }
      }
    }
  }
  (void)all_were_skipped();  // which is right here
}

constexpr std::size_t huge_extent = std::size_t{1} << 50;

bool has_extent(Shape const& shape, std::size_t extent) { return std::ranges::find(shape, extent) != shape.end(); }

// Returns all combinations of the extents 0, 2 and 2^50 that the mini-app accepts and for which no field has many
// elements although one extent is huge.
std::vector<std::vector<Shape>> huge_without_elements(App const& app, DType dtype, ParameterMap const& given) {
  if (auto known = app_cases().huge_shapes; !known.empty()) {
    std::erase_if(known, [&](std::vector<Shape> const& shapes) {
      try {
        PatternSource const source(app, Pattern::random, shapes);
        (void)app.footprint_of_source(dtype, source, with_defaults(app, given));
        return false;
      } catch (UserError const&) {  // parameters that do not suit the shapes
        return true;
      }
    });
    return known;
  }
  std::vector<FieldSpec> const fields = app.input_fields(dtype);
  std::vector<Shape> shapes;
  std::size_t ways = 1;
  for (FieldSpec const& field : fields) {
    shapes.emplace_back(static_cast<std::size_t>(field.rank));
    for (int d = 0; d < field.rank; ++d) ways *= 3;
  }
  auto const is_small = [](Shape const& shape) { return has_extent(shape, 0) || !has_extent(shape, huge_extent); };
  std::vector<std::vector<Shape>> taken;
  for (std::size_t way = 0; way < ways; ++way) {
    std::size_t rest = way;
    for (Shape& shape : shapes) {
      for (std::size_t& extent : shape) {
        extent = rest % 3 == 0 ? 0 : rest % 3 == 1 ? 2 : huge_extent;
        rest /= 3;
      }
    }
    auto const is_huge = [](Shape const& shape) { return has_extent(shape, huge_extent); };
    if (!std::ranges::all_of(shapes, is_small) || std::ranges::none_of(shapes, is_huge)) continue;
    try {
      PatternSource const source(app, Pattern::random, shapes);
      auto const output = app.footprint_of_source(dtype, source, with_defaults(app, given)).output_shapes;
      if (std::ranges::all_of(output, is_small)) taken.push_back(shapes);
    } catch (UserError const&) {  // inconsistent shapes
    }
  }
  return taken;
}

// An array without elements may have an extent of 2^50, and a file with it is tiny: if the product of the extents is 0,
// no loop may run over one extent. A loop that does never ends; the alarm then prints the case.
std::string running;
void say_what_runs(int) {
  std::fputs(running.c_str(), stderr);
  std::_Exit(1);
}
TEST_P(Rows, HugeExtentsWithoutElementsEndAtOnce) {
  auto const before = std::signal(SIGALRM, say_what_runs);
  for (DType const dtype : dtypes_of_this_build()) {
    std::vector<ParameterMap> maps = app_cases().parameters;
    maps.push_back(base_);
    for (ParameterMap const& map : maps) {
      if (!takes(app(), dtype, map)) continue;
      for (std::vector<Shape> const& shapes : huge_without_elements(app(), dtype, map)) {
        running = std::string(app().info.name) + text_of(map);
        for (Shape const& shape : shapes) running += " " + to_string(shape);
        ::alarm(30);
        run_rows(app(), dtype, PatternSource(app(), Pattern::random, shapes), map, 1, running);
        ::alarm(0);
      }
    }
  }
  (void)all_were_skipped();  // which is right here
  (void)std::signal(SIGALRM, before);
}

// A View of three dimensions computes strides even without elements. If they overflow, the shape is a user error.
TEST_P(Rows, EmptyShapesWithoutStridesAreRefused) {
  DType const dtype = dtypes_of_this_build().front();
  std::vector<Shape> shapes;
  bool three = false;
  for (FieldSpec const& field : app().input_fields(dtype)) {
    shapes.emplace_back(static_cast<std::size_t>(field.rank), huge_extent);
    if (!shapes.back().empty()) shapes.back().front() = 0;
    three = three || field.rank >= 3;
  }
  if (!three) GTEST_SKIP() << "no input of three dimensions";
  PatternSource const source(app(), Pattern::random, shapes);
  EXPECT_THROW((void)app().footprint_of_source(dtype, source, with_defaults(app(), base_)), UserError);
}

// Runs all rows on generated data of each kind. The reference must prove that exact data are exact, unless the mini-app
// rounds anyway.
TEST_P(Rows, KindsOfData) {
  for (DType const dtype : dtypes_of_this_build()) {
    if (!takes(app(), dtype, base_, 1 << 17)) continue;
    for (DataKind const kind : app().data) {
      for (std::size_t const size :
           {std::size_t{0}, std::size_t{1}, std::size_t{33}, std::size_t{1025}, std::size_t{70001}}) {
        auto const problem_case = app().generate_data(dtype, size, 42, kind, with_defaults(app(), base_));
        std::vector<ExpectedField> const expected = problem_case->reference_by_parts();
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
        if (kind != DataKind::exact || app_cases().rounds_exact_data) continue;
        for (ExpectedField const& field : expected) {
          EXPECT_TRUE(std::ranges::all_of(field.scale, [](double scale) { return scale == 0; }))
              << field.name << " of " << what;
        }
      }
    }
  }
}

// Sets the number of elements in a part of a reference during the lifetime of this object.
class PartElements {
 public:
  explicit PartElements(std::size_t elements) : before_(std::exchange(part_elements(), elements)) {}
  ~PartElements() { part_elements() = before_; }
  PartElements(PartElements const&) = delete;
  PartElements& operator=(PartElements const&) = delete;

 private:
  std::size_t before_;
};

// Returns where two references differ, bit by bit; empty if they agree. Parts may prove to be exact even if the whole
// cannot.
std::string difference(ExpectedField const& whole, ExpectedField const& parts) {
  if (whole.name != parts.name || whole.shape != parts.shape) return "another name or shape";
  bool const narrow = whole.narrow != nullptr || parts.narrow != nullptr;
  auto const bits = [&](double number) {
    return std::bit_cast<std::uint64_t>(narrow ? static_cast<double>(static_cast<float>(number)) : number);
  };
  auto const at = [](std::vector<double> const& numbers, std::size_t i) { return numbers.empty() ? 0 : numbers.at(i); };
  for (std::size_t i = 0; i < count_of(whole.shape); ++i) {
    double const one = value_at(whole, i);
    double const other = value_at(parts, i);
    if (parts.compact != nullptr) {
      WholeElement const joined = expanded(parts.compact[i]);
      bool const is_exact = joined.scale == 0;
      auto const packed =
          compacted({one, is_exact ? 0 : at(whole.scale, i), is_exact ? joined.offset : at(whole.offset, i)});
      if (packed && std::memcmp(&*packed, &parts.compact[i], sizeof *packed) == 0) continue;
      return "element " + std::to_string(i) + ": value " + std::to_string(one) + ", compact in parts " +
             std::to_string(other);
    }
    double const scale = at(parts.scale, i);
    bool const same = bits(one) == bits(other) && (scale == 0 || at(whole.scale, i) == scale) &&
                      (scale == 0 || at(whole.offset, i) == at(parts.offset, i)) &&
                      at(whole.bfloat16_offset, i) == at(parts.bfloat16_offset, i);
    if (same) continue;
    return "element " + std::to_string(i) + ": value " + std::to_string(one) + ", in parts " + std::to_string(other) +
           "; scale " + std::to_string(at(whole.scale, i)) + ", in parts " + std::to_string(scale) + "; offset " +
           std::to_string(at(whole.offset, i)) + ", in parts " + std::to_string(at(parts.offset, i));
  }
  return {};
}

// The reference must not depend on the parts in which it is computed: values, scales, offsets and a sample.
TEST_P(Rows, ReferenceInParts) {
  std::vector<ParameterMap> all{base_};
  for (ParameterMap const& map : app_cases().parameters) all.push_back(map);
  for (DType const dtype : dtypes_of_this_build()) {
    for (ParameterMap const& map : all) {
      if (!takes(app(), dtype, map, 1 << 17)) continue;
      for (DataKind const kind : app().data) {
        for (std::size_t const size : {0U, 1U, 1025U, 10007U, 12288U}) {
          if (!takes(app(), dtype, map, size)) continue;
          auto const problem_case = app().generate_data(dtype, size, 42, kind, with_defaults(app(), map));
          std::vector<ExpectedField> whole;
          {
            PartElements const none(std::size_t{1} << 40);
            whole = problem_case->reference();
          }
          for (std::size_t const elements : {std::size_t{64}, std::size_t{1000}}) {
            PartElements const of_parts(elements);
            std::string const what = std::string(tessera::name_of(kind)) + " data of " + std::to_string(size) +
                                     text_of(map) + " in parts of " + std::to_string(elements);
            std::vector<ExpectedField> const parts = problem_case->reference_by_parts();
            ASSERT_EQ(whole.size(), parts.size());
            for (std::size_t f = 0; f < whole.size(); ++f) {
              EXPECT_EQ(difference(whole[f], parts[f]), "") << whole[f].name << " of " << what;
            }
            auto const choose = [](std::size_t count) { return sample_of(count, 200, 7); };
            auto const sample = problem_case->reference_of_sample(choose);
            if (!sample) continue;
            for (std::size_t f = 0; f < whole.size(); ++f) {
              ExpectedField const gathered = gather(whole[f], choose(count_of(whole[f].shape)));
              EXPECT_EQ(difference(gathered, sample->at(f)), "") << whole[f].name << ", a sample of " << what;
            }
          }
        }
      }
    }
  }
}

// The data of a case, except that one part of the first field is zero.
class WithoutPart final : public FieldSource {
 public:
  WithoutPart(Case const& of, std::size_t begin, std::size_t count)
      : fields_(of.input()), begin_(begin), count_(count) {}
  [[nodiscard]] Shape shape(FieldSpec const& spec) const override { return field(spec).shape; }
  void read(FieldSpec const& spec, void* destination) const override {
    HostField const& from = field(spec);
    auto* const bytes = static_cast<unsigned char*>(destination);
    std::memcpy(bytes, from.data.get(), from.bytes());
    if (spec.name != fields_.front().name) return;
    std::size_t const size = size_of(from.dtype);
    std::size_t const begin = std::min(begin_, from.count());
    std::memset(bytes + begin * size, 0, std::min(count_, from.count() - begin) * size);
  }

 private:
  [[nodiscard]] HostField const& field(FieldSpec const& spec) const {
    return *std::ranges::find(fields_, spec.name, &HostField::name);
  }
  std::vector<HostField> fields_;
  std::size_t begin_;
  std::size_t count_;
};

// A reference that has lost its first, a middle or its last part must fail right rows.
TEST_P(Rows, LostPartOfTheReference) {
  DType const dtype = dtypes_of_this_build().front();
  constexpr std::size_t size = 70001;
  if (!takes(app(), dtype, base_, 1 << 17) || !app_cases().has_parts) GTEST_SKIP() << "it has no parts";
  auto const right = app().generate_data(dtype, size, 42, app().data.front(), with_defaults(app(), base_));
  std::size_t const count = right->input().front().count();
  std::size_t const part = std::min<std::size_t>(4096, count / 4 + 1);
  for (std::size_t const begin : {std::size_t{0}, count / 2, count - part}) {
    WithoutPart const source(*right, begin, part);
    std::vector<ExpectedField> const expected =
        app().read(dtype, source, with_defaults(app(), base_))->reference_by_parts();
    for (Row const& row : app().rows) {
      if (row.dtype != dtype || !is_wanted(row)) continue;
      EXPECT_NE(run_row(row, *right, expected, 1), "") << name_of(app(), row) << " without elements from " << begin;
    }
  }
}

// Prints how fast the mini-app's data are generated, referenced and compared, in elements per second of processor time.
// TESSERA_TEST_SPEED=67108864 measures 2^26 elements. This is no test, because times on a loaded machine mean little.
TEST_P(Rows, SpeedOfChecking) {
  char const* const size = std::getenv("TESSERA_TEST_SPEED");
  if (size == nullptr) GTEST_SKIP() << "TESSERA_TEST_SPEED is not set";
  auto const seconds = [](auto const& step) {
    auto const user = [] {
      rusage usage{};
      ::getrusage(RUSAGE_SELF, &usage);
      return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
             1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    };
    double const begin = user();
    step();
    return user() - begin;
  };
  for (DataKind const kind : app().data) {
    std::unique_ptr<Case> problem_case;
    std::vector<ExpectedField> expected;
    double const generating = seconds([&] {
      problem_case = app().generate_data(DType::float32, std::stoull(size), 42, kind, with_defaults(app(), base_));
    });
    double const referring = seconds([&] { expected = problem_case->reference_by_parts(); });
    std::vector<HostField> outputs = problem_case->output_shapes();
    for (std::size_t f = 0; f < outputs.size(); ++f) make_narrow(expected.at(f), outputs[f].dtype);
    std::vector<std::vector<unsigned char>> memory;
    for (HostField& output : outputs) {
      output.data = {std::shared_ptr<void>(), memory.emplace_back(output.bytes()).data()};
    }
    double const comparing = seconds([&] {
      for (std::size_t f = 0; f < outputs.size(); ++f) (void)verify(expected.at(f), outputs[f], Chain(10, false));
    });
    auto const rate = [&](double of) { return std::to_string(std::stod(size) / of / 1e6).substr(0, 6); };
    std::cout << app().info.name << ", " << tessera::name_of(kind) << ": M elements per second of a core: generated "
              << rate(generating) << ", referenced " << rate(referring) << ", compared " << rate(comparing) << ", all "
              << rate(generating + referring + comparing) << "\n";
  }
}

// Random shapes and parameters: windows wider than the input, one row, one column, no elements.
TEST_P(Rows, RandomShapes) {
  int drawn = 0;
  for (DType const dtype : dtypes_of_this_build()) {
    // The first dtype tries most of them, as in Parameters, and the others try other ones.
    bool const first = dtype == dtypes_of_this_build().front();
    for (std::uint64_t draw = first ? 0 : 220; draw < (first ? 220 : 280); ++draw) {
      RandomCase const random = random_case(app(), draw);
      if (!takes(app(), dtype, random.parameters)) continue;
      std::string what = "draw " + std::to_string(draw) + ":";
      for (Shape const& shape : random.shapes) what += " " + to_string(shape);
      run_rows(app(), dtype, PatternSource(app(), Pattern::random, random.shapes), random.parameters, 1,
               what + text_of(random.parameters));
      ++drawn;
    }
  }
  EXPECT_GE(drawn, 150);  // parameters may not suit the only dtype of a build
}

// A race shows only sometimes: run one Plan many times, on sizes that fill no tile, with teams of one thread (as hosts
// choose) and of four.
TEST_P(Rows, RepeatedRuns) {
  ParameterMap of_four = base_;
  bool const has_team = std::any_of(app().parameters.begin(), app().parameters.end(),
                                    [](ParameterSpec const& spec) { return spec.name == "team"; });
  if (has_team) of_four["team"] = std::int64_t{4};
  for (DType const dtype : dtypes_of_this_build()) {
    // Races are not those of a dtype: the first shows most of them.
    int const runs = repeats(dtype == dtypes_of_this_build().front() ? 20 : 8);
    auto const run = [&](std::size_t size, ParameterMap const& given, std::string const& how) {
      PatternSource const source(app(), Pattern::random, size, given);
      run_rows(app(), dtype, source, given, runs, std::to_string(size) + how);
    };
    for (std::size_t const size : {std::size_t{4099}, std::size_t{100003}}) run(size, base_, " repeatedly");
    // The barriers of a team that has more threads than the machine take a time slice each.
    if (has_team) run(4099, of_four, " by teams of four");
  }
}

// On a GPU each row must report its kernels and their resources; on a host it reports none.
TEST_P(Rows, KernelsAsLaunched) {
  for (DType const dtype : dtypes_of_this_build()) {
    PatternSource const source(app(), Pattern::random, 100003, base_);
    if (!takes(app(), dtype, base_, 1 << 17)) continue;
    auto const problem_case = app().read(dtype, source, with_defaults(app(), base_, source.size()));
    for (Row const& row : app().rows) {
      if (row.dtype != dtype || !is_wanted(row)) continue;
      std::unique_ptr<RowRun> run;
      std::vector<KernelUse> kernels;
      try {
        run = row.start(*problem_case);
        kernels = kernels_of([&] { run->enqueue(); });
      } catch (Skip const&) {  // by the call: MakingAPlanLaunchesNoKernelOfTheRow fails
        continue;
      }
      run->fence();
      std::string const what = name_of(app(), row);
      bool const shared = row.info.level == Level::library;  // a library may launch its kernels itself
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
