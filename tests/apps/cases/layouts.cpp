#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  cases.parameters = {{{"rows", Int{1}}},
                      {{"rows", Int{2}}, {"side", Int{1}}},
                      {{"rows", Int{3}}, {"pitch", Int{1}}, {"side", Int{2}}},
                      {{"pitch", Int{7}}, {"side", Int{64}}},
                      {{"pitch", Int{100}}, {"side", Int{16}}}};
  cases.choose = [](Dice& dice, ParameterMap& map) {
    map["pitch"] = static_cast<Int>(1 + dice.below(70));
    map["side"] = Int{1} << dice.below(7);
  };
  return cases;
}

}  // namespace tessera::testing
