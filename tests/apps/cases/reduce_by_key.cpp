#include <string>

#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  for (Int const mean : {0, 1, 8, 256}) cases.parameters.push_back({{"mean", mean}});
  for (std::string const op : {"max", "min"}) {
    cases.parameters.push_back({{"op", op}});
    cases.parameters.push_back({{"op", op}, {"team", Int{3}}});
  }
  for (std::string const mode : {"lengths", "unique"}) {
    cases.parameters.push_back({{"mode", mode}});
    cases.parameters.push_back({{"mode", mode}, {"team", Int{3}}});
  }
  return cases;
}

}  // namespace tessera::testing
