#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases{.rounds_exact_data = true};
  for (char const* const axis : {"all", "rows", "cols"}) {
    for (Int const rows : {0, 1, 2, 3, 63, 500})
      cases.parameters.push_back({{"axis", std::string(axis)}, {"rows", rows}});
    // Each column is processed by one team with barriers: long columns keep their number at hundreds instead of
    // thousands.
    Int const rows = std::string(axis) == "cols" ? 63 : 5;
    for (Int const team : {2, 3, 4})
      cases.parameters.push_back({{"axis", std::string(axis)}, {"rows", rows}, {"team", team}});
  }
  return cases;
}

}  // namespace tessera::testing
