#include "app_cases.hpp"

namespace tessera::testing {

namespace {

std::vector<Shape> block_shapes(std::size_t batch, std::size_t tokens, std::size_t d, std::size_t hidden) {
  return {{batch, tokens, d},
          {d},
          {d},
          {d, d},
          {d},
          {d, d},
          {d},
          {d, d},
          {d},
          {d, d},
          {d},
          {d},
          {d},
          {hidden, d},
          {hidden},
          {d, hidden},
          {d},
          {batch, tokens, d}};
}

}  // namespace

AppCases app_cases() {
  AppCases cases;
  auto const add = [&](Int d, Int heads, Int tokens, Int batch) {
    cases.parameters.push_back({{"d-model", d}, {"heads", heads}, {"tokens", tokens}, {"batch", batch}});
  };
  add(64, 1, 1, 1);    // one token, one head
  add(64, 2, 37, 3);   // no multiple of a tile
  add(128, 1, 34, 1);  // a head of 128 columns
  add(21, 7, 67, 1);   // rows that are no whole packs
  cases.parameters.push_back({{"d-model", Int{32}}, {"heads", Int{2}}, {"tokens", Int{50}}, {"causal", false}});
  cases.parameters.push_back({{"d-model", Int{16}}, {"d-ff", Int{1}}, {"heads", Int{2}}});
  cases.parameters.push_back({{"d-model", Int{260}}, {"heads", Int{1}}, {"tokens", Int{3}}});  // heads above 256
  cases.shapes = [](Dice& dice, std::size_t) -> std::vector<Shape> {
    std::size_t const d = 1 + dice.extent(dice.one_of({20, 60}));
    return block_shapes(dice.extent(3), dice.extent(dice.one_of({9, 40})), d, dice.extent(60));
  };
  cases.choose = [](Dice& dice, ParameterMap& map) {
    map["heads"] = Int{1};
    map["causal"] = dice.below(3) != 0;
  };
  constexpr std::size_t huge = std::size_t{1} << 50;
  for (std::size_t const hidden : {0, 2}) {
    cases.huge_shapes.push_back(block_shapes(0, huge, 42, hidden));
    cases.huge_shapes.push_back(block_shapes(huge, 0, 42, hidden));
  }
  return cases;
}

}  // namespace tessera::testing
