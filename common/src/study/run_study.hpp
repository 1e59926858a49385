#pragma once

#include <string>
#include <vector>

#include <tessera/table/app.hpp>

namespace tessera::study {

/// `tessera study`: `arguments` are the words after it, `typed` is argv[0]. Prints the commands of a study, or runs
/// them. Returns the exit code. Throws UserError.
int run_study(std::vector<App> const& apps, std::vector<std::string> const& arguments, std::string const& typed);

/// `tessera limits`: prints a table of the numbers of ranks at which mini-apps stop scaling, for a machine and a link.
int run_limits(std::vector<App> const& apps, std::vector<std::string> const& arguments);

[[nodiscard]] std::string study_help();
[[nodiscard]] std::string limits_help();

}  // namespace tessera::study
