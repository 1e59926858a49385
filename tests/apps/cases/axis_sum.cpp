#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  for (Int const rows : {1, 2, 3}) cases.parameters.push_back({{"rows", rows}});
  for (Int const rows : {0, 1, 2, 3}) cases.parameters.push_back({{"axis", Int{0}}, {"rows", rows}});
  for (Int const team : {2, 3, 4}) cases.parameters.push_back({{"axis", Int{0}}, {"team", team}});
  cases.choose = [](Dice& dice, ParameterMap& map) { map["axis"] = static_cast<Int>(dice.below(2)); };
  return cases;
}

}  // namespace tessera::testing
