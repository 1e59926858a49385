#pragma once
/// \file
/// What a program's main() calls.

#include <vector>

#include <tessera/table/app.hpp>

namespace tessera {

/// Runs one mini-app's command line; returns the exit code (0 verified, 1 a row failed, 2 the user's mistake).
int run_app(App const& app, int argc, char** argv);

/// Runs the umbrella's command line: `tessera list`, `tessera run all|APP ...`.
int run_suite(std::vector<App> const& apps, int argc, char** argv);

}  // namespace tessera
