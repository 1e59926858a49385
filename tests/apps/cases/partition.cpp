#include <cmath>
#include <limits>
#include <string>

#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  double const infinite = std::numeric_limits<double>::infinity();
  // All elements right, all left, a pivot that is no float, the extremes of the patterns, a pivot beyond int32.
  for (double const pivot :
       {-infinite, infinite, std::nan(""), 0.1, -0.7, 50.5, -0.0, 1e300, -1e300, 2147483648.0, -2147483648.0}) {
    cases.parameters.push_back({{"pivot", pivot}});
    cases.parameters.push_back({{"pivot", pivot}, {"segment", Int{32}}});
    cases.parameters.push_back({{"pivot", pivot}, {"right", std::string("reversed")}});
  }
  for (Int const segment : {1, 2, 3, 8, 9, 32, 33, 100, 511, 512, 513, 5000, 100000}) {
    cases.parameters.push_back({{"segment", segment}});
    cases.parameters.push_back({{"segment", segment}, {"right", std::string("reversed")}});
    cases.parameters.push_back({{"segment", segment}, {"team", Int{3}}});
  }
  for (Int const tile : {1, 2, 8, 37, 300, 1023, 1025}) {
    cases.parameters.push_back({{"tile", tile}});
    cases.parameters.push_back({{"tile", tile}, {"team", Int{3}}, {"pivot", 0.4}});
    cases.parameters.push_back({{"tile", tile}, {"pivot", 0.4}, {"right", std::string("reversed")}});
  }
  for (Int const bins : {2, 3, 8, 100, 255, 256}) {
    cases.parameters.push_back({{"bins", bins}});
    cases.parameters.push_back({{"bins", bins}, {"pivot", -1.0}, {"width", 0.01}});
    cases.parameters.push_back({{"bins", bins}, {"pivot", -infinite}});
    cases.parameters.push_back({{"bins", bins}, {"pivot", std::nan("")}, {"width", 1e-300}});
  }
  cases.choose = [](Dice& dice, ParameterMap& map) {
    if (dice.below(2) == 0) map["pivot"] = dice.one_of({-0.9, -0.3, 0.2, 0.7, 40.0});
  };
  return cases;
}

}  // namespace tessera::testing
