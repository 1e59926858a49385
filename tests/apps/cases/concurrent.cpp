#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  cases.parameters = {{{"chains", Int{1}}},
                      {{"kernels", Int{1}}},
                      {{"chains", Int{3}}, {"kernels", Int{2}}},
                      {{"chains", Int{7}}, {"kernels", Int{5}}},
                      {{"chains", Int{64}}, {"kernels", Int{3}}},
                      {{"chains", Int{1}}, {"kernels", Int{40}}},
                      {{"chains", Int{3}}, {"blocks", Int{7}}}};
  cases.choose = [](Dice& dice, ParameterMap& map) {
    map["chains"] = static_cast<Int>(1 + dice.below(16));
    map["kernels"] = static_cast<Int>(1 + dice.below(12));
    map["blocks"] = static_cast<Int>(dice.below(9));
  };
  return cases;
}

}  // namespace tessera::testing
