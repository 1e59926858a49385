#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  for (Int const kernel : {1, 2, 3, 5, 8, 9, 64, 1000}) {
    cases.parameters.push_back({{"kernel", kernel}});
    cases.parameters.push_back({{"kernel", kernel}, {"tile", Int{8}}, {"team", Int{2}}});
  }
  cases.shapes = [](Dice& dice, std::size_t n) -> std::vector<Shape> {
    return {{n}, {1 + dice.extent(dice.one_of({9, 70, 700}))}};
  };
  return cases;
}

}  // namespace tessera::testing
