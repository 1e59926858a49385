#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  for (char const* const op : {"sum", "mean", "max"}) {
    for (Int const window : {1, 2, 3, 4, 5, 33, 1000, 7000}) {
      cases.parameters.push_back({{"op", std::string(op)}, {"window", window}});
      cases.parameters.push_back({{"op", std::string(op)}, {"window", window}, {"tile", Int{8}}, {"team", Int{2}}});
    }
  }
  cases.choose = [](Dice& dice, ParameterMap& map) {
    map["window"] = static_cast<Int>(1 + dice.extent(dice.one_of({5, 40, 5000})));
  };
  return cases;
}

}  // namespace tessera::testing
