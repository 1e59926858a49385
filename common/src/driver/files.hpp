#pragma once

#include <string>
#include <vector>

#include <tessera/cli/options.hpp>

namespace tessera {

/// Returns the cases of a mini-app in --inputs DIR: DIR/<app>/*.h5, sorted; empty if there is no such folder. Throws
/// UserError if it cannot be read.
[[nodiscard]] std::vector<std::string> case_files(std::string const& directory, std::string const& app);

/// Checks all files that a run will read and write, before anything is opened: no file may have two uses. Files are
/// compared by identity, not by name. Throws UserError.
void check_files(Command const& command, Options const& options);

}  // namespace tessera
