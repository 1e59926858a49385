#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases{.parameters = {}, .has_parts = false};
  for (std::string const generator : {"philox", "threefry"}) {
    for (std::string const distribution : {"bits", "uniform", "uniform_positive", "normal", "integers"}) {
      cases.parameters.push_back(
          {{"generator", generator}, {"distribution", distribution}, {"stream", Int{4294967295}}});
    }
  }
  // Ranges of one, of all and of so many integers that half of the words are rejected.
  Int const half = Int{1} << 31;
  for (auto const& [lo, hi] : std::vector<std::pair<Int, Int>>{{-1, 0}, {-half, half}, {-5, half - 4}}) {
    cases.parameters.push_back({{"distribution", std::string("integers")}, {"lo", lo}, {"hi", hi}});
  }
  // The first counter is incomplete; the counter exceeds 32 bits; Philox' words wrap at 2^34 elements.
  for (Int const offset : {Int{3}, (Int{1} << 34) - 6, Int{1} << 62}) cases.parameters.push_back({{"offset", offset}});
  cases.shapes = [](Dice&, std::size_t) { return std::vector<Shape>{}; };
  cases.choose = [](Dice& dice, ParameterMap& map) {
    map["count"] = static_cast<Int>(dice.extent(20000));
    map["distribution"] = std::string("uniform");  // the others suit some dtypes only
    map["stream"] = static_cast<Int>(dice.extent(1000));
    map["offset"] = static_cast<Int>(dice.below(9));
  };
  return cases;
}

}  // namespace tessera::testing
