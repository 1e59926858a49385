#pragma once
/// \file
/// The entry point of a mini-app's main(). Includes nothing, so that the main() of all mini-apps compile quickly.

namespace tessera {

struct App;

/// Runs one mini-app's command line; returns the exit code (0 verified, 1 a row failed, 2 the user's mistake).
int run_app(App const& app, int argc, char** argv);

/// The same for the mini-app that `app` makes.
int run_app(App (*app)(), int argc, char** argv);

}  // namespace tessera
