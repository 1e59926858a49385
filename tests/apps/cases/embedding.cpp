#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  for (ParameterMap& map : cases.parameters) map["vocabulary"] = Int{90};
  for (Int const width : {1, 2, 3, 4, 7, 16, 33, 64, 300, 1024}) {
    cases.parameters.push_back({{"vocabulary", Int{77}}, {"width", width}});
    cases.parameters.push_back({{"vocabulary", Int{1}}, {"width", width}, {"team", Int{2}}});
  }
  cases.parameters.push_back({{"vocabulary", Int{90}}, {"batch", Int{3}}});
  cases.parameters.push_back({{"vocabulary", Int{90}}, {"length", Int{5}}});
  cases.parameters.push_back({{"vocabulary", Int{90}}, {"batch", Int{2}}, {"width", Int{8}}});
  cases.base = {{"vocabulary", Int{90}}};
  cases.shapes = [](Dice& dice, std::size_t) -> std::vector<Shape> {
    // Indices are drawn from -100 to 100, so that tables may be smaller or larger than this range.
    std::size_t const rows = dice.extent(200);
    return {{dice.extent(20), dice.extent(30)}, {rows, dice.extent(dice.one_of({9, 150}))}};
  };
  return cases;
}

}  // namespace tessera::testing
