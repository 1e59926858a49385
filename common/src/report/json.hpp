#pragma once
// What the report and the machine file write alike.

#include <string>

#include <nlohmann/json.hpp>

#include <tessera/report/report.hpp>

namespace tessera::report {

using Json = nlohmann::ordered_json;

// JSON knows neither NaN nor infinity.
[[nodiscard]] Json number(double value);

[[nodiscard]] Json space_json(SpaceReport const& space);

// Where a file of an option will be written, links followed. Throws UserError if it cannot be: no such directory, no
// permission, or what is there is no regular file.
[[nodiscard]] std::string writable_path(std::string const& option, std::string const& path);

// Writes a file to its temporary name and renames it. Throws std::runtime_error that names `option`.
void write_file(std::string const& option, std::string const& path, std::string const& text);

}  // namespace tessera::report
