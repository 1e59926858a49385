#pragma once
// The commands of the umbrella program that are about many runs. `arguments` are the words after the command. Each
// returns the exit code, and throws UserError.

#include <string>
#include <vector>

#include <tessera/table/app.hpp>

namespace tessera {

namespace study {

/// `tessera study`: prints the commands of a study, or runs them. `typed` is argv[0].
int run_study(std::vector<App> const& apps, std::vector<std::string> const& arguments, std::string const& typed);

/// `tessera limits`: prints a table of the numbers of ranks at which mini-apps stop scaling, for a machine and a link.
int run_limits(std::vector<App> const& apps, std::vector<std::string> const& arguments);

}  // namespace study

namespace comparison {

/// `tessera compare`: prints the comparison. The exit code is 1 if a row is slower or unverified (with --self-test: if
/// more than 1% of the verdicts are wrong).
int run_compare(std::vector<std::string> const& arguments);

}  // namespace comparison

}  // namespace tessera
