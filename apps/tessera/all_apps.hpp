#pragma once

#include <vector>

#include <tessera/table/app.hpp>

namespace tessera {

/// Every mini-app of this build, in alphabetical order.
[[nodiscard]] std::vector<App> all_apps();

}  // namespace tessera
