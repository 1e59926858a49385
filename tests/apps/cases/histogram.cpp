#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  for (ParameterMap& map : cases.parameters) map.merge(ParameterMap{{"lo", -0.0}, {"hi", 9.0}});
  auto const add_range = [&](double lo, double hi, std::initializer_list<Int> bins) {
    for (Int const count : bins) cases.parameters.push_back({{"lo", lo}, {"hi", hi}, {"bins", count}});
  };
  add_range(-1, 1, {1, 2, 3, 255, 256, 257, 890, 1000, 8000, 1 << 16, 1 << 20});
  add_range(-100, 101, {1, 2, 7, 201, 256, 1000});
  add_range(-101, -1, {1, 50, 99, 300});
  add_range(0, 98, {2});  // 49 is the edge: 49 * (2.0 / 98) is below 1
  add_range(-0x1p31, 0x1p31, {1, 255, 256, 1 << 20});
  add_range(-0x1p31 + 1, 0x1p31 - 1, {3, 257});
  add_range(0x1p31 - 2, 0x1p31, {1, 2, 3});
  add_range(-0.75, 0.3, {10, 256});
  add_range(1e-45, 1e-6, {10});
  add_range(1000, 2000, {10});
  for (Int const tile : {1, 7, 100, 1000}) {
    cases.parameters.push_back({{"lo", -1.0}, {"hi", 60.0}, {"tile", tile}});
    cases.parameters.push_back({{"lo", -1.0}, {"hi", 60.0}, {"tile", tile}, {"bins", Int{77}}, {"team", Int{3}}});
  }
  for (Int const bins : {16, 200}) {
    for (Int const team : {2, 3, 4})
      cases.parameters.push_back({{"lo", -1.0}, {"hi", 1.0}, {"bins", bins}, {"team", team}});
  }
  cases.base = {{"lo", 0.0}, {"hi", 9.0}};  // a range that contains some of the patterns' elements
  cases.choose = [](Dice& dice, ParameterMap& map) {
    map["bins"] = dice.one_of({Int{1}, Int{2}, Int{7}, Int{255}, Int{256}, Int{257}, Int{700}, Int{5000}});
    map["lo"] = dice.one_of({-101.0, -1.0, 0.0, -50.0});
    map["hi"] = dice.one_of({1.0, 3.0, 60.0, 101.0});
  };
  return cases;
}

}  // namespace tessera::testing
