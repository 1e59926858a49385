#pragma once
/// \file
/// Mistakes in what ranks exchange (planted.cmake makes them): some rank must find its part wrong, and none where no
/// mistake is made. On one rank there is nothing to exchange. The size is TESSERA_TEST_LATE_SIZE, else 2^20.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "../ranks/rows.hpp"
#include "planted.hpp"

#include <tessera/table/runtime.hpp>

namespace tessera::testing {

class PlantedMistakes : public ::testing::Test {};

/// One launch of each row of `variant` without a mistake and with each of `mistakes`: a rank that found its part wrong
/// would leave the others alone in a second one.
/// \param given_size 0: the usual
inline void expect_planted_seen(App const& app, VariantRows const& variant, std::vector<int> mistakes,
                                ParameterMap const& given, std::size_t given_size, Spaces spaces) {
  if (world().count() == 1) GTEST_SKIP() << "one rank";
  std::vector<std::string> const dtypes = enabled_dtypes();
  if (std::ranges::find(dtypes, "float") == dtypes.end()) GTEST_SKIP() << "no float in this build";
  bool const is_set = std::getenv("TESSERA_TEST_LATE_SIZE") != nullptr;
  std::size_t const size = given_size > 0 ? given_size : is_set ? late_size() : std::size_t{1} << 20;
  auto const problem_case = app.generate(DType::float32, size, 42, with_defaults(app, given));
  std::vector<ExpectedField> const expected = problem_case->reference();
  mistakes.insert(mistakes.begin(), 0);
  int tried = 0;
  for (Row const& row : variant.rows) {
    if (!is_wanted(row) || !are_among(spaces, row)) continue;
    ++tried;
    for (int const mistake : mistakes) {
      planted::chosen_mistake = mistake;
      std::vector<std::string> const all = world().all_gather(run_row(row, *problem_case, expected, 1));
      planted::chosen_mistake = 0;
      EXPECT_EQ(std::ranges::none_of(all, is_wrong_result), mistake == 0)
          << name_of(app, row) << said(given) << ", mistake " << mistake;
      // Skips, exceptions and failed launches are no proof.
      for (std::string const& outcome : all) {
        EXPECT_TRUE(outcome.empty() || is_wrong_result(outcome))
            << name_of(app, row) << said(given) << ", mistake " << mistake << ": " << outcome;
      }
    }
  }
  char const* const space = std::getenv("TESSERA_TEST_SPACE");
  EXPECT_TRUE(tried > 0 || space != nullptr || spaces != Spaces::all) << variant.info.name << " has no row";
}

}  // namespace tessera::testing
