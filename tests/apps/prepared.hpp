#pragma once
/// \file
/// Cases of users' sizes with their references, for all tests that plant mistakes late: making one takes seconds.

#include <cstddef>
#include <memory>

#include <tessera/driver/driver.hpp>
#include <tessera/table/app.hpp>

namespace tessera::testing {

/// An input in float, as a user's run generates it, and what its rows are compared with.
struct PreparedCase {
  App app;
  ParameterMap parameters;  ///< as given
  std::size_t size = 0;
  std::unique_ptr<Case> problem_case;
  Oracle oracle;
  Verified verified;  ///< of late_mistakes_test.cpp, whose rows keep their output themselves
};

/// Returns the case of the mini-app with these parameters and the default ones. The last two are kept (from 2^28
/// elements on one): what is returned is good until the next call.
[[nodiscard]] PreparedCase& prepared_case(App const& app, ParameterMap const& given, std::size_t size);

/// Forgets the cases: device memory cannot wait for the end of the program.
void forget_prepared_cases();

}  // namespace tessera::testing
