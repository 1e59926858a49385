#pragma once
// Test cases of the mini-apps that read neighbouring elements within a segment.

#include "app_cases.hpp"

namespace tessera::testing {

inline AppCases stencil_cases() {
  AppCases cases;
  for (Int const segment : {1, 2, 3, 32, 33, 100, 5000}) {
    cases.parameters.push_back({{"segment", segment}});
    cases.parameters.push_back({{"segment", segment}, {"tile", Int{8}}, {"team", Int{2}}});
  }
  return cases;
}

// Segments that lanes hold completely.
inline AppCases held_segment_cases(std::initializer_list<char const*> ops) {
  AppCases cases;
  for (char const* const op : ops) {
    for (Int const segment :
         {0, 1, 2, 3, 4, 5, 8, 31, 32, 33, 64, 100, 128, 129, 256, 511, 512, 600, 1000, 1023, 1024}) {
      cases.parameters.push_back({{"op", std::string(op)}, {"segment", segment}});
    }
    for (Int const segment : {0, 5, 32, 1000}) {
      for (Int const team : {2, 3, 4}) {
        cases.parameters.push_back({{"op", std::string(op)}, {"segment", segment}, {"team", team}});
      }
    }
  }
  cases.choose = [](Dice& dice, ParameterMap& map) {
    if (dice.below(2) == 0) map["segment"] = static_cast<Int>(dice.extent(dice.one_of({9, 100, 1024})));
  };
  return cases;
}

}  // namespace tessera::testing
