#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  for (char const* const extent : {"rows", "hidden"}) {
    for (Int const value : {1, 3}) cases.parameters.push_back({{extent, value}});
  }
  cases.parameters.push_back({{"hidden", Int{2048}}});
  cases.parameters.push_back({{"rows", Int{2050}}, {"hidden", Int{4}}});
  cases.parameters.push_back({{"eps", 1.0}});
  cases.shapes = [](Dice& dice, std::size_t) -> std::vector<Shape> {
    std::size_t const rows = dice.extent(90);
    std::size_t const hidden = 1 + dice.extent(dice.one_of({40, 300, 2000}));
    return {{rows, hidden}, {hidden}, {hidden}};
  };
  return cases;
}

}  // namespace tessera::testing
