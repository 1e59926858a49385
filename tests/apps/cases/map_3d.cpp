#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  cases.parameters = teams_and({{{"planes", Int{1}}},
                                {{"planes", Int{1}}, {"rows", Int{1}}},
                                {{"planes", Int{2}}, {"rows", Int{1}}, {"team", Int{2}}},
                                {{"rows", Int{1}}},
                                {{"c", -3.0}}});
  cases.shapes = [](Dice& dice, std::size_t) -> std::vector<Shape> {
    return {{dice.extent(20), dice.extent(40), dice.extent(dice.one_of({9, 300}))}};
  };
  return cases;
}

}  // namespace tessera::testing
