#pragma once
/// \file
/// Wrong variants must be caught: runs a variant that is not in the table through the same path as those that are.

#include <gtest/gtest.h>

#include <string>

#include "harness.hpp"

#include <tessera/table/make_app.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera::testing {

enum class Where { everywhere, hosts };

/// What run_row says of each row of a variant on a random input: expected to hold `message`, never to be empty. A
/// missing barrier shows for sure only on hosts, whose threads the scheduler interrupts anywhere.
template <class Problem, class Variant>
void expect_caught(std::size_t size, ParameterMap const& given, std::string const& message, int runs = 1,
                   Where where = Where::everywhere) {
  App const app = make_app<Problem>({rows<Problem, Variant>()});
  ASSERT_FALSE(app.rows.empty());
  for (Row const& row : app.rows) {
    if (where == Where::hosts && !is_host_space(row.space)) continue;
    auto const problem_case = app.generate(row.dtype, size, 1, with_defaults(app, given));
    std::string const outcome = run_row(row, *problem_case, problem_case->reference(), runs);
    EXPECT_NE(outcome.find(message), std::string::npos)
        << name_of(app, row) << " of " << size << ": " << (outcome.empty() ? "passed" : outcome);
  }
}

}  // namespace tessera::testing
