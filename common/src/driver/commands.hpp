#pragma once
// Commands that are printed for copying.

#include <string>
#include <utility>
#include <vector>

#include <tessera/cli/options.hpp>

#include "plan.hpp"

namespace tessera {

/// Returns a word as a shell reads it, quoted if necessary.
[[nodiscard]] std::string quoted(std::string const& text);

/// Returns this program as it was called; `typed` is argv[0]. A launcher such as `./run` sets TESSERA_LAUNCHER to its
/// own command: then returns that command and the program's bare name.
[[nodiscard]] std::string program_as_called(std::string const& typed);

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
