#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  for (char const* const axis : {"all", "rows", "cols"}) {
    for (Int const rows : {0, 1, 2, 3, 63, 500})
      cases.parameters.push_back({{"axis", std::string(axis)}, {"rows", rows}});
    for (Int const team : {2, 3, 4})
      cases.parameters.push_back({{"axis", std::string(axis)}, {"rows", Int{5}}, {"team", team}});
  }
  return cases;
}

}  // namespace tessera::testing
