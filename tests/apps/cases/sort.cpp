#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  std::string const index = "index";
  for (bool const descending : {false, true}) {
    cases.parameters.push_back({{"descending", descending}, {"values", index}});
    cases.parameters.push_back({{"descending", descending}, {"values", std::string("other")}});
    cases.parameters.push_back({{"descending", descending}, {"begin-bit", Int{3}}, {"end-bit", Int{20}}});
    cases.parameters.push_back({{"descending", descending}, {"begin-bit", Int{30}}, {"values", index}});
    cases.parameters.push_back({{"descending", descending}, {"end-bit", Int{1}}, {"values", index}});
  }
  for (char const* const distribution : {"sorted", "reversed", "constant", "few", "zipf", "low_entropy"}) {
    cases.parameters.push_back({{"distribution", std::string(distribution)}, {"values", index}});
  }
  for (Int const tile : {1, 2, 7, 64, 1025}) {
    cases.parameters.push_back({{"tile", tile}, {"values", index}});
    cases.parameters.push_back({{"tile", tile}, {"team", Int{3}}, {"descending", true}});
  }
  for (Int const tile : {7, 1025}) cases.parameters.push_back({{"tile", tile}, {"values", std::string("other")}});
  cases.shapes = [](Dice& dice, std::size_t n) -> std::vector<Shape> {
    std::size_t const field = dice.below(3);  // 0: no values
    return {{n}, {field == 1 ? n : 0}, {field == 2 ? n : 0}};
  };
  return cases;
}

}  // namespace tessera::testing
