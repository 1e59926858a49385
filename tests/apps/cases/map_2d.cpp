#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  return {.parameters = teams_and({{{"rows", Int{1}}}, {{"rows", Int{2}}}, {{"rows", Int{3}}}, {{"c", -3.0}}})};
}

}  // namespace tessera::testing
