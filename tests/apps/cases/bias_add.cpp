#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  return {.parameters = teams_and({{{"rows", Int{1}}}, {{"rows", Int{2}}}, {{"rows", Int{3}}}}),
          .shapes = [](Dice& dice, std::size_t) -> std::vector<Shape> {
            Shape const x = dice.matrix(20000);
            return {x, {x[1]}};
          }};
}

}  // namespace tessera::testing
