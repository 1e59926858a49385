#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  cases.parameters.clear();
  for (char const* const op : {"sum", "max", "min"}) {
    for (bool const exclusive : {false, true}) {
      for (Int const segment : {Int{0}, Int{32}, Int{1}, Int{100}, Int{5000}}) {
        cases.parameters.push_back({{"op", std::string(op)}, {"exclusive", exclusive}, {"segment", segment}});
      }
    }
  }
  for (Int const tile : {Int{1}, Int{2}, Int{8}, Int{37}, Int{300}}) {  // 300: several rows of a GPU's banks
    for (Int const segment : {Int{0}, Int{3}}) {
      cases.parameters.push_back({{"tile", tile}, {"segment", segment}});
      cases.parameters.push_back({{"tile", tile}, {"segment", segment}, {"exclusive", true}, {"team", Int{2}}});
    }
  }
  for (char const* const op : {"sum", "max", "min"}) {
    for (Int const tile : {Int{2}, Int{8}, Int{2000}}) {
      cases.parameters.push_back({{"op", std::string(op)},
                                  {"tile", tile},
                                  {"totals", true},
                                  {"exclusive", tile == 8},
                                  {"team", Int{tile % 3}}});
    }
  }
  for (Int const team : {Int{2}, Int{3}, Int{4}}) {
    cases.parameters.push_back({{"team", team}});
    cases.parameters.push_back({{"team", team}, {"segment", Int{100}}, {"op", std::string("max")}});
  }
  cases.choose = [](Dice& dice, ParameterMap& map) { map["exclusive"] = dice.below(2) == 0; };
  return cases;
}

}  // namespace tessera::testing
