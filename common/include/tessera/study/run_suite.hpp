#pragma once
/// \file
/// The entry point of the umbrella program's main().

#include <vector>

#include <tessera/table/app.hpp>

namespace tessera {

/// Runs the umbrella program's command line: `tessera list`, `tessera run all|APP ...`. Returns the exit code (0
/// verified, 1 a row failed, 2 the user's mistake).
int run_suite(std::vector<App> const& apps, int argc, char** argv);

}  // namespace tessera
