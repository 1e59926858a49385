#include "app_cases.hpp"

namespace tessera::testing {

namespace {

std::vector<Shape> block_shapes(std::size_t batch, std::size_t tokens, std::size_t d, std::size_t hidden) {
  return {{batch, tokens, d}, {d},      {d},         {d, d}, {d}, {d, d}, {d}, {d, d}, {d}, {d, d}, {d}, {d}, {d},
          {hidden, d},        {hidden}, {d, hidden}, {d}};
}

}  // namespace

AppCases app_cases() {
  AppCases cases;
  auto const add = [&](Int d, Int heads, Int tokens, Int batch) {
    cases.parameters.push_back({{"d-model", d}, {"heads", heads}, {"tokens", tokens}, {"batch", batch}});
  };
  add(64, 1, 1, 1);    // one token, one head
  add(64, 1, 1, 3);    // a batch of single tokens
  add(128, 2, 37, 3);  // no multiple of a tile
  add(128, 1, 65, 1);  // a head of 128 columns
  add(6, 3, 130, 2);   // heads of two columns
  add(21, 7, 19, 1);   // rows that are no whole packs
  add(33, 3, 963, 1);  // 2^20 + 131, and no extent is round: a generated block has 2^20
  cases.parameters.push_back({{"d-model", Int{32}}, {"heads", Int{2}}, {"tokens", Int{50}}, {"causal", false}});
  cases.parameters.push_back({{"d-model", Int{16}}, {"d-ff", Int{1}}, {"heads", Int{2}}});
  cases.parameters.push_back({{"d-model", Int{600}}, {"heads", Int{2}}, {"tokens", Int{3}}});  // heads above 256
  cases.parameters.push_back({{"eps", 1.0}});
  cases.shapes = [](Dice& dice, std::size_t) -> std::vector<Shape> {
    std::size_t const d = 1 + dice.extent(dice.one_of({20, 90}));
    return block_shapes(dice.extent(4), dice.extent(dice.one_of({9, 70})), d, dice.extent(100));
  };
  cases.choose = [](Dice& dice, ParameterMap& map) {
    map["heads"] = Int{1};
    map["causal"] = dice.below(3) != 0;
  };
  constexpr std::size_t huge = std::size_t{1} << 50;
  for (std::size_t const d : {2, 42}) {  // 42 columns suit all heads above
    for (std::size_t const hidden : {0, 2}) {
      cases.huge_shapes.push_back(block_shapes(0, huge, d, hidden));
      cases.huge_shapes.push_back(block_shapes(huge, 0, d, hidden));
    }
  }
  return cases;
}

}  // namespace tessera::testing
