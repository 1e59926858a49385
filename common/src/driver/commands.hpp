#pragma once
// Commands that a digest prints for copying.

#include <string>
#include <utility>
#include <vector>

#include <tessera/cli/options.hpp>

#include "plan.hpp"

namespace tessera {

/// Returns the command that runs one row of a case again: the command line as typed, with this mini-app, case and row
/// selected, and without output files.
[[nodiscard]] std::string repeat_command(Command const& command, Options const& options,
                                         std::vector<std::string> const& arguments, PlannedCase const& planned,
                                         Row const& row);

/// Returns three commands to try next, each with a description, chosen for the current run. `slowest` is the mini-app
/// furthest below its roof, and its share of the roof; may be empty.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> commands_to_try(
    Command const& command, Options const& options, Plan const& plan,
    std::pair<std::string, std::string> const& slowest);

}  // namespace tessera
