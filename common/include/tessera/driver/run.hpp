#pragma once
/// \file
/// What a program's main() calls. Nothing is included, so that the two dozen main() take no time to compile.

namespace tessera {

struct App;

/// Runs one mini-app's command line; returns the exit code (0 verified, 1 a row failed, 2 the user's mistake).
int run_app(App const& app, int argc, char** argv);

/// The same, of the mini-app that `app` makes.
int run_app(App (*app)(), int argc, char** argv);

}  // namespace tessera
