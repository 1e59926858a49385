#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases{.parameters = {}, .has_parts = false};
  for (std::string const quantity : {"pi", "call"}) {
    for (std::string const points : {"random", "sobol"}) {
      for (std::string const variates : {"plain", "antithetic", "control"}) {
        cases.parameters.push_back({{"quantity", quantity}, {"points", points}, {"variates", variates}});
      }
    }
  }
  for (std::string const points : {"random", "sobol"}) {
    cases.parameters.push_back({{"quantity", std::string("coin")}, {"points", points}});
  }
  std::string const call = "call";
  cases.parameters.push_back({{"quantity", call}, {"generator", std::string("threefry")}});
  cases.parameters.push_back({{"generator", std::string("threefry")}, {"points", std::string("sobol")}});
  // Blocks of 2^14 points in teams of several threads, and of more threads than points.
  for (Int const team : {2, 3, 64}) cases.parameters.push_back({{"team", team}, {"points", std::string("sobol")}});
  cases.parameters.push_back({{"quantity", call}, {"team", Int{2}}});
  // The ends of the market.
  cases.parameters.push_back({{"quantity", call}, {"volatility", 1.0}, {"years", 1.0}});
  cases.parameters.push_back({{"quantity", call}, {"strike", 2.0}, {"variates", std::string("control")}});
  cases.parameters.push_back({{"quantity", call}, {"strike", 9000.0}, {"rate", -0.1}});
  cases.shapes = [](Dice&, std::size_t) { return std::vector<Shape>{}; };
  cases.choose = [](Dice& dice, ParameterMap& map) { map["count"] = static_cast<Int>(dice.extent(20000)); };
  return cases;
}

}  // namespace tessera::testing
