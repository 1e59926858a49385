#pragma once
/// \file
/// The machine file: the roofs of a machine, written by one run (--save-machine) and used by others (--machine).
///
/// JSON, schema "tessera-machine/1": `build`, `system` (facts of the run that measured), and `spaces`, by name, each
/// with its device, its concurrency and the roofs, as in a report's `system.spaces`. What is unknown is null.

#include <map>
#include <string>
#include <vector>

#include <tessera/io/whole_file.hpp>
#include <tessera/report/report.hpp>

namespace tessera {

/// Reads a machine file: its spaces by name. Throws UserError (no such file, no JSON, another schema, a roof that is
/// missing or no positive number).
[[nodiscard]] std::map<std::string, SpaceReport> read_machine_file(std::string const& path);

/// Writes one. Throws std::runtime_error if that fails.
void write_machine_file(WholeFile& file, std::vector<SpaceReport> const& spaces, Facts const& build,
                        Facts const& system);

}  // namespace tessera
