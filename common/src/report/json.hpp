#pragma once
// Helpers for reading and writing the report and the machine file.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <tessera/report/report.hpp>

namespace tessera::report {

// JSON has neither NaN nor infinity: dump() writes null.
using Json = nlohmann::ordered_json;

// Returns a positive number of a report; otherwise unknown.
[[nodiscard]] double positive_or_unknown(Json const& value);

[[nodiscard]] Json space_json(SpaceReport const& space);

// Returns a row of the report.
[[nodiscard]] Json row_json(RowReport const& row);

// Returns the JSON object in that file, with that schema. If there is none, calls `refuse(path, why)`, which must
// throw.
[[nodiscard]] Json read_document(std::string const& path, std::string_view schema,
                                 void (*refuse)(std::string const& path, std::string const& why));

}  // namespace tessera::report
