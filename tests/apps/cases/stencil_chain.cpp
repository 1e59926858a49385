#include <string>

#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  for (ParameterMap const& chain :
       std::vector<ParameterMap>{{},
                                 {{"chain", std::string("averages")}},
                                 {{"chain", std::string("averages")}, {"iterations", Int{1}}},
                                 {{"chain", std::string("averages")}, {"iterations", Int{2}}},
                                 {{"chain", std::string("averages")}, {"iterations", Int{9}}}}) {
    cases.parameters.push_back(chain);
    for (Int const tile : {1, 2, 8, 100}) {
      for (Int const team : {1, 2, 3}) {
        ParameterMap map = chain;
        map["tile"] = tile;
        map["team"] = team;
        cases.parameters.push_back(map);
      }
    }
  }
  ParameterMap const many{{"chain", std::string("averages")}, {"iterations", Int{64}}};
  cases.parameters.push_back(many);
  cases.parameters.push_back(many);
  cases.parameters.back()["tile"] = Int{8};
  cases.parameters.back()["team"] = Int{3};
  cases.choose = [](Dice& dice, ParameterMap& map) { map["iterations"] = static_cast<Int>(1 + dice.below(20)); };
  return cases;
}

}  // namespace tessera::testing
