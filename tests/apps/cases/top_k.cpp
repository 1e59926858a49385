#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  // A part of the input that has none of the k largest elements does not change the results. One row of small unsigned
  // numbers below 0 has only the largest one, which is also the poison: several rows are the base.
  AppCases cases{.base = {{"rows", Int{0}}}, .has_parts = false};
  cases.parameters.push_back({{"rows", Int{1}}});
  for (Int const k : {0, 1, 2, 31, 32, 33, 257, 1025}) cases.parameters.push_back({{"k", k}});
  for (Int const rows : {0, 2, 3, 31, 1000}) {
    cases.parameters.push_back({{"rows", rows}});
    cases.parameters.push_back({{"rows", rows}, {"k", Int{rows == 1000 ? 3 : 33}}});
  }
  for (char const* const distribution : {"uniform", "rising", "falling", "constant"}) {
    cases.parameters.push_back({{"distribution", std::string(distribution)}, {"k", Int{100}}});
  }
  for (Int const team : {2, 3, 4}) cases.parameters.push_back({{"team", team}, {"rows", Int{5}}});
  cases.choose = [](Dice& dice, ParameterMap& map) { map["k"] = -static_cast<Int>(dice.below(2)); };
  return cases;
}

}  // namespace tessera::testing
