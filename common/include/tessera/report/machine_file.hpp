#pragma once
/// \file
/// The machine file: the roofs of a machine, written by one run (--save-machine) and read by others (--machine).
///
/// JSON, schema "tessera-machine/1": `build` and `system` (facts of the run that measured), and `spaces` by name, each
/// with its device, its concurrency and the roofs, as in a report's `system.spaces`. Unknown values are null.

#include <map>
#include <string>
#include <vector>

#include <tessera/io/whole_file.hpp>
#include <tessera/report/report.hpp>

namespace tessera {

/// Reads a machine file. Returns its spaces by name. Throws UserError if there is no such file, if it is not JSON or
/// has another schema, or if a roof is missing or not a positive number.
[[nodiscard]] std::map<std::string, SpaceReport> read_machine_file(std::string const& path);

/// Writes a machine file. Throws std::runtime_error if that fails.
void write_machine_file(WholeFile& file, std::vector<SpaceReport> const& spaces, Facts const& build,
                        Facts const& system);

}  // namespace tessera
