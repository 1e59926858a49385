#pragma once
// What the report and the machine file read and write alike.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <tessera/report/report.hpp>

namespace tessera::report {

using Json = nlohmann::ordered_json;

// JSON knows neither NaN nor infinity.
[[nodiscard]] Json number(double value);

[[nodiscard]] Json space_json(SpaceReport const& space);

// The JSON object in that file, of that schema. `refuse(path, why)` is called if there is none, and throws.
[[nodiscard]] Json read_document(std::string const& path, std::string_view schema,
                                 void (*refuse)(std::string const& path, std::string const& why));

}  // namespace tessera::report
