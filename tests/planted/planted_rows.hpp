#pragma once
/// \file
/// Mistakes inside kernels (planted.cmake makes them) at users' sizes, with default options and data: the driver must
/// fail the row of each mistake, and pass it of none. The size is that of the late mistakes:
/// TESSERA_TEST_LATE_SIZE, else 2^24.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "../apps/harness.hpp"
#include "../apps/prepared.hpp"
#include "planted.hpp"

#include <tessera/driver/driver.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera::testing {

class PlantedMistakes : public ::testing::Test {};

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
    PreparedCase const& at = prepared_case(app, given, size);
    for (int const mistake : mistakes) {
      SamplingOptions const once{.warmup = 0, .samples = 1, .min_time = 0};
      planted::chosen_mistake = mistake;
      Verified verified;
      auto const report =
          tessera::run_row(row, *at.problem_case, at.oracle, once, RowReport{}, [] { return false; }, {}, verified);
      planted::chosen_mistake = 0;
      ASSERT_TRUE(report);
      if (mistake == 0 && spaces == Spaces::gpus && report->status == Status::skipped) {
        GTEST_SKIP() << name_of(app, row) << ": " << report->reason;  // another GPU
      }
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
