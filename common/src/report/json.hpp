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

}  // namespace tessera::report
