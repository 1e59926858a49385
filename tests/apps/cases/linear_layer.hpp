#pragma once
// Test cases of the mini-apps with a normalised linear layer.

#include "app_cases.hpp"

namespace tessera::testing {

/// `last` returns the shape of the last input field for the given rows and outputs.
template <class Last>
AppCases linear_layer_cases(Last) {
  AppCases cases;
  for (char const* const extent : {"rows", "hidden", "outputs"}) {
    for (Int const value : {1, 3}) cases.parameters.push_back({{extent, value}});
  }
  cases.parameters.push_back({{"hidden", Int{2048}}});
  cases.parameters.push_back({{"rows", Int{2050}}, {"hidden", Int{4}}, {"outputs", Int{5}}});
  cases.parameters.push_back({{"eps", 1.0}});
  cases.shapes = [](Dice& dice, std::size_t) -> std::vector<Shape> {
    std::size_t const rows = dice.extent(90);
    std::size_t const hidden = 1 + dice.extent(dice.one_of({40, 300}));
    std::size_t const outputs = dice.extent(90);
    return {{rows, hidden}, {hidden}, {hidden}, {outputs, hidden}, Last{}(rows, outputs)};
  };
  return cases;
}

}  // namespace tessera::testing
