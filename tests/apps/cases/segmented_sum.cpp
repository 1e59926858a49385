#include <algorithm>
#include <string>

#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  for (Int const rows : {1, 2, 7, 1000}) cases.parameters.push_back({{"rows", rows}});
  for (std::string const lengths : {"geometric", "power_law"}) {
    cases.parameters.push_back({{"lengths", lengths}});
    cases.parameters.push_back({{"lengths", lengths}, {"team", Int{3}}});
  }
  cases.shapes = [](Dice& dice, std::size_t n) -> std::vector<Shape> {
    return {{n}, {1 + std::max<std::size_t>(n > 0 ? 1 : 0, dice.extent(dice.one_of({5, 300, 5000})))}};
  };
  return cases;
}

}  // namespace tessera::testing
