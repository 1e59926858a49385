#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  for (Int const rows : {1, 2, 3}) cases.parameters.push_back({{"rows", rows}});
  cases.rounds_exact_data = true;
  return cases;
}

}  // namespace tessera::testing
