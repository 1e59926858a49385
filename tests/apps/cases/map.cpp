#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() { return {.parameters = teams_and({{{"c", -3.0}}, {{"tile", Int{7}}, {"team", Int{2}}}})}; }

}  // namespace tessera::testing
