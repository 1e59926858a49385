#pragma once

#include <string>
#include <vector>

#include <tessera/cli/options.hpp>

namespace tessera {

/// Plans and runs what the options request, on all ranks. Returns the exit code. Throws UserError only if nothing has
/// run yet. `arguments` is the command line as typed, for the report.
int run_plan(Command const& command, Options const& given, std::vector<std::string> const& arguments);

}  // namespace tessera
