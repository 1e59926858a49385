#pragma once
/// \file
/// Mistakes inside kernels (planted.cmake makes them) at users' sizes, with default options and data: the driver must fail the row
/// of each mistake, and pass it of none. The size is that of the late mistakes: TESSERA_TEST_LATE_SIZE, else 2^24.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness.hpp"
#include "planted.hpp"

#include <tessera/driver/driver.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/verify/verify.hpp>

namespace tessera::testing {

/// Judges the float rows of a variant, as the driver does, without a mistake and with each of `mistakes`.
template <class Problem, class Variant>
void expect_planted_seen(std::vector<int> mistakes, ParameterMap const& given = {}) {
  mistakes.insert(mistakes.begin(), 0);
  App const app = make_app<Problem>({rows<Problem, Variant>()});
  if (!is_wanted(late_size())) return;
  auto const problem_case = app.generate(DType::float32, late_size(), 42, with_defaults(app, given));
  Oracle oracle;
  oracle.reference = problem_case->reference();
  std::vector<HostField> const outputs = problem_case->output_shapes();
  for (std::size_t i = 0; i < outputs.size(); ++i) make_narrow(oracle.reference.at(i), outputs[i].dtype);
  oracle.random_data = app.data.front() == DataKind::random;
  SamplingOptions const sampling{.warmup = 1, .samples = 2, .min_time = 0};
  for (Row const& row : app.rows) {
    if (!is_wanted(row) || row.dtype != DType::float32) continue;
    for (int const mistake : mistakes) {
      planted::chosen_mistake = mistake;
      Verified verified;
      auto const report =
          tessera::run_row(row, *problem_case, oracle, sampling, RowReport{}, [] { return false; }, {}, verified);
      planted::chosen_mistake = 0;
      ASSERT_TRUE(report);
      Status const expected = mistake == 0 ? Status::passed : Status::failed;
      EXPECT_EQ(name_of(report->status), name_of(expected))
          << name_of(app, row) << ", mistake " << mistake << ": " << report->reason << " (" << report->note << ")";
    }
    problem_case->release_device_input();
  }
}

}  // namespace tessera::testing
