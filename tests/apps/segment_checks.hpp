#pragma once
/// \file
/// For tests of mini-apps that work on segments: returns a row's results so that they can be compared bit by bit.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness.hpp"

#include <tessera/verify/verify.hpp>

namespace tessera::testing {

/// Returns the only field that the variant's row for `dtype` writes on a space, or nothing if the row is skipped or
/// missing.
inline std::vector<HostField> results_of(App const& app, std::string_view variant, std::string_view space, DType dtype,
                                         Case& problem_case) {
  for (Row const& row : app.rows) {
    if (row.info.name != variant || row.space != space || row.dtype != dtype) continue;
    try {
      auto const run = row.start(problem_case);
      run->poison();
      run->enqueue();
      run->fence();
      return run->fetch();
    } catch (Skip const&) {
      return {};
    }
  }
  return {};
}

/// Variant b must write the same bits as variant a, on every space and for every dtype, segment length and size.
inline void expect_same_bits(App const& app, std::string_view a, std::string_view b, char const* op) {
  int compared = 0;
  for (Row const& row : app.rows) {
    if (row.info.name != a || !is_wanted(row)) continue;
    for (std::int64_t segment = 0; segment <= 1024; segment += segment < 40 ? 1 : 41) {
      for (std::size_t const size : {std::size_t{1}, std::size_t{77}, std::size_t{5003}}) {
        ParameterMap const map = with_defaults(app, {{"op", std::string(op)}, {"segment", segment}});
        for (Pattern const pattern : {Pattern::huge_range, Pattern::negative_zero}) {
          auto const problem_case = app.read(row.dtype, PatternSource(app, pattern, size, map), map);
          auto const of_a = results_of(app, a, row.space, row.dtype, *problem_case);
          auto const of_b = results_of(app, b, row.space, row.dtype, *problem_case);
          if (of_a.empty() || of_b.empty()) continue;
          EXPECT_TRUE(same_bits(of_a.at(0), of_b.at(0)))
              << op << ", segments of " << segment << ", " << size << ", " << name_of(app, row);
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 0);
}

}  // namespace tessera::testing
