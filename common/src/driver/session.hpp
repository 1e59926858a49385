#pragma once

#include <string>
#include <vector>

#include <tessera/cli/options.hpp>

namespace tessera {

/// Plans and runs what the options ask for, on all ranks: case by case, row by row. Returns the exit code; throws UserError as long
/// as nothing has run. `arguments` are the command line as it was typed, for the report.
int run_plan(Command const& command, Options const& given, std::vector<std::string> const& arguments);

}  // namespace tessera
