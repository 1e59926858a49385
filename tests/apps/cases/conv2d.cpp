#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases;
  for (Int const rows : {1, 2, 3}) cases.parameters.push_back({{"rows", rows}});
  for (Int const height : {1, 2, 3, 7}) {
    for (Int const width : {1, 3, 4, 7}) {
      cases.parameters.push_back({{"kernel-rows", height}, {"kernel-cols", width}});
    }
  }
  cases.parameters.push_back(
      {{"kernel-rows", Int{5}}, {"kernel-cols", Int{5}}});  // like 7 x 7, these have their own kernels on GPUs
  cases.parameters.push_back({{"rows", Int{5}}, {"kernel-rows", Int{9}}, {"kernel-cols", Int{70}}});
  cases.shapes = [](Dice& dice, std::size_t) -> std::vector<Shape> {
    return {dice.matrix(8000), {1 + dice.extent(9), 1 + dice.extent(9)}};
  };
  return cases;
}

}  // namespace tessera::testing
