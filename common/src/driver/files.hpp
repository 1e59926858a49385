#pragma once

#include <string>
#include <vector>

#include <tessera/cli/options.hpp>

namespace tessera {

/// The cases of a mini-app in --inputs DIR: DIR/<app>/*.h5, sorted; empty if there is no such folder. Throws UserError if
/// it cannot be read.
[[nodiscard]] std::vector<std::string> case_files(std::string const& directory, std::string const& app);

/// Checks all files that a run will read and write, before anything is opened: none may be two things. Files are
/// compared by what they are, not by their names. Throws UserError.
void check_files(Command const& command, Options const& options);

}  // namespace tessera
