#pragma once
// Command lines that a digest prints, to be copied.

#include <string>
#include <utility>
#include <vector>

#include <tessera/cli/options.hpp>

#include "plan.hpp"

namespace tessera {

/// The command that runs one row of a case again: what was typed, with this mini-app, case and row chosen and without
/// the files that the run writes.
[[nodiscard]] std::string repeat_command(Command const& command, Options const& options,
                                         std::vector<std::string> const& arguments, PlannedCase const& planned,
                                         Row const& row);

/// Three commands to try next and what each shows, chosen for what was run. `slowest` is the mini-app furthest below
/// its roof and how far; may be empty.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> commands_to_try(
    Command const& command, Options const& options, Plan const& plan,
    std::pair<std::string, std::string> const& slowest);

}  // namespace tessera
