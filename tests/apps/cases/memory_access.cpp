#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases{.has_parts = false};
  cases.base = {{"iterations", Int{5}}, {"rounds", Int{3}}};
  std::string const warp = "warp";
  std::string const element = "element";
  cases.parameters = teams_and({});
  for (Int const stride : {1, 2, 3, 32, 64}) cases.parameters.push_back({{"stride", stride}, {"iterations", Int{0}}});
  for (Int const spread : {0, 1, 2, 3, 31}) {
    cases.parameters.push_back({{"bank-stride", spread}, {"rounds", Int{2}}, {"team", Int{2}}, {"iterations", Int{1}}});
  }
  cases.parameters.push_back({{"rounds", Int{1}}, {"branch", warp}, {"branches", Int{32}}, {"iterations", Int{3}}});
  cases.parameters.push_back({{"branch", element}, {"branches", Int{3}}, {"iterations", Int{4}}});
  for (std::string const branch : {"first", "quads", "nested"}) {
    cases.parameters.push_back({{"branch", branch}, {"iterations", Int{2}}});
    cases.parameters.push_back({{"branch", branch}, {"branches", Int{2}}, {"iterations", Int{2}}});
  }
  cases.parameters.push_back({{"branches", Int{1}}, {"offset", Int{0}}, {"distance", Int{0}}});
  cases.parameters.push_back({{"offset", Int{15}}, {"distance", Int{256}}, {"iterations", Int{1}}});
  for (Int const bytes : {0, 2, 8, 15}) cases.parameters.push_back({{"bytes", bytes}, {"iterations", Int{1}}});
  cases.choose = [](Dice& dice, ParameterMap& map) {
    map["stride"] = static_cast<Int>(1 + dice.below(64));
    map["bank-stride"] = static_cast<Int>(dice.below(33));
    map["rounds"] = static_cast<Int>(1 + dice.below(5));
    map["branches"] = static_cast<Int>(1 + dice.below(32));
    map["distance"] = static_cast<Int>(dice.below(20));
    map["offset"] = static_cast<Int>(dice.below(16));
    map["bytes"] = static_cast<Int>(dice.below(16));
  };
  return cases;
}

}  // namespace tessera::testing
