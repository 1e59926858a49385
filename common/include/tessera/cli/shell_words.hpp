#pragma once
/// \file
/// Commands that a message or a digest prints for copying into a shell.

#include <string>

namespace tessera {

/// Returns a word as a shell reads it, quoted if necessary.
[[nodiscard]] std::string quoted(std::string const& text);

/// Returns this program as it was called; `typed` is argv[0]. A launcher such as `./run` sets TESSERA_LAUNCHER to its own
/// command: then returns that command and the program's bare name.
[[nodiscard]] std::string program_as_called(std::string const& typed);

}  // namespace tessera
