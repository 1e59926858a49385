#pragma once
/// \file
/// What the umbrella's main() calls.

#include <vector>

#include <tessera/table/app.hpp>

namespace tessera {

/// Runs the umbrella's command line: `tessera list`, `tessera run all|APP ...`; returns the exit code (0 verified, 1 a row
/// failed, 2 the user's mistake).
int run_suite(std::vector<App> const& apps, int argc, char** argv);

}  // namespace tessera
