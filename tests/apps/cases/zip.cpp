#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  for (Int const tile : {1, 2, 3, 7, 64}) cases.parameters.push_back({{"tile", tile}});
  return cases;
}

}  // namespace tessera::testing
