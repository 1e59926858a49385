#include <algorithm>
#include <string>

#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  std::string const index = "index";
  for (Int const rows : {1, 2, 7, 1000}) cases.parameters.push_back({{"rows", rows}, {"values", index}});
  for (std::string const lengths : {"geometric", "power_law"}) {
    cases.parameters.push_back({{"lengths", lengths}, {"values", index}});
    cases.parameters.push_back({{"lengths", lengths}, {"team", Int{3}}, {"descending", true}});
  }
  for (char const* const distribution : {"sorted", "constant", "few"}) {
    cases.parameters.push_back({{"distribution", std::string(distribution)}, {"values", index}, {"rows", Int{3}}});
  }
  cases.shapes = [](Dice& dice, std::size_t n) -> std::vector<Shape> {
    std::size_t const rows = std::max<std::size_t>(n > 0 ? 1 : 0, dice.extent(dice.one_of({5, 300, 5000})));
    return {{n}, {dice.one_of({std::size_t{0}, n})}, {1 + rows}};
  };
  return cases;
}

}  // namespace tessera::testing
