#pragma once
/// \file
/// Mistakes inside kernels (planted.cmake makes them) at users' sizes, with default options and data: the driver must
/// fail the row of each mistake, and pass it of none. The size is that of the late mistakes:
/// TESSERA_TEST_LATE_SIZE, else 2^24.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../apps/harness.hpp"
#include "planted.hpp"

#include <tessera/driver/driver.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/runtime.hpp>
#include <tessera/verify/verify.hpp>

namespace tessera::testing {

/// An input and its reference, for all mistakes with the same parameters.
struct PlantedCase {
  std::string app;
  ParameterMap parameters;
  std::size_t size = 0;
  std::unique_ptr<Case> problem_case;
  Oracle oracle;
};

/// The last one. The suite ends it: device memory cannot wait for the end of the program.
inline std::unique_ptr<PlantedCase> planted_case;

inline PlantedCase& planted_case_of(App const& app, ParameterMap const& given, std::size_t size) {
  std::string const name(app.info.name);
  if (planted_case && planted_case->app == name && planted_case->parameters == given && planted_case->size == size) {
    return *planted_case;
  }
  planted_case.reset();
  auto next = std::make_unique<PlantedCase>();
  next->app = name;
  next->parameters = given;
  next->size = size;
  next->problem_case = app.generate(DType::float32, size, 42, with_defaults(app, given));
  next->oracle.reference = next->problem_case->reference_by_parts();
  std::vector<HostField> const outputs = next->problem_case->output_shapes();
  for (std::size_t i = 0; i < outputs.size(); ++i) make_narrow(next->oracle.reference.at(i), outputs[i].dtype);
  next->oracle.random_data = app.data.front() == DataKind::random;
  planted_case = std::move(next);
  return *planted_case;
}

class PlantedMistakes : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { planted_case.reset(); }
};

/// Returns true if the driver's comparison failed the row, and not an exception or a failed launch.
[[nodiscard]] inline bool is_seen(RowReport const& report) {
  auto const begins = [&](std::string_view words) { return report.reason.starts_with(words); };
  return report.status == Status::failed && (begins("first launch: ") || begins("after ") ||
                                             begins("wrote outside of ") || begins("the last launch gave other bits"));
}

/// Judges the rows of `variant`, as the driver does, without a mistake and with each of `mistakes`:
/// only a failed comparison counts.
/// \param given_size 0: the usual
inline void expect_planted_seen(App const& app, VariantRows const& variant, std::vector<int> mistakes,
                                ParameterMap const& given, std::size_t given_size, Spaces spaces) {
  mistakes.insert(mistakes.begin(), 0);
  std::size_t const size = given_size > 0 ? given_size : late_size();
  if (!is_wanted(size)) GTEST_SKIP() << size << " elements are above TESSERA_TEST_LARGEST";
  std::vector<std::string> const dtypes = enabled_dtypes();
  if (std::ranges::find(dtypes, "float") == dtypes.end()) GTEST_SKIP() << "no float in this build";
  int tried = 0;
  for (Row const& row : variant.rows) {
    if (!is_wanted(row) || !are_among(spaces, row)) continue;
    PlantedCase const& at = planted_case_of(app, given, size);
    for (int const mistake : mistakes) {
      SamplingOptions const once{.warmup = 0, .samples = 1, .min_time = 0};
      planted::chosen_mistake = mistake;
      Verified verified;
      auto const report =
          tessera::run_row(row, *at.problem_case, at.oracle, once, RowReport{}, [] { return false; }, {}, verified);
      planted::chosen_mistake = 0;
      ASSERT_TRUE(report);
      EXPECT_TRUE(mistake == 0 ? report->status == Status::passed : is_seen(*report))
          << name_of(app, row) << ", mistake " << mistake << ": " << name_of(report->status) << ", " << report->reason
          << " (" << report->note << ")";
    }
    at.problem_case->release_device_input();
    ++tried;
  }
  char const* const space = std::getenv("TESSERA_TEST_SPACE");
  EXPECT_TRUE(tried > 0 || space != nullptr || spaces != Spaces::all) << variant.info.name << " has no row";
}

}  // namespace tessera::testing
