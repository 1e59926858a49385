#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  for (char const* const extent : {"m", "n", "k"}) cases.parameters.push_back({{extent, Int{1}}});
  for (Int const tile : {1, 2, 3, 5}) cases.parameters.push_back({{"tile", tile}});
  cases.shapes = [](Dice& dice, std::size_t) -> std::vector<Shape> {
    std::size_t const m = dice.extent(90);
    std::size_t const k = dice.extent(dice.one_of({90, 600}));
    return {{m, k}, {k, dice.extent(90)}};
  };
  cases.tiles_along = 5;
  return cases;
}

}  // namespace tessera::testing
