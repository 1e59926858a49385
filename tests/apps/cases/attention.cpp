#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases{.rounds_exact_data = true};
  for (ParameterMap& map : cases.parameters) map["scale"] = 0.01;
  auto const add_shape = [&](Int dim, Int queries) {
    cases.parameters.push_back({{"dim", dim}, {"queries", queries}, {"scale", 0.01}});
    cases.parameters.push_back(
        {{"dim", dim}, {"queries", queries}, {"scale", 0.01}, {"chunks", Int{3}}, {"team", Int{3}}});
  };
  for (Int const dim : {7, 33, 64, 100, 200, 257}) add_shape(dim, 3);
  for (Int const queries : {1, 8, 20}) add_shape(16, queries);
  // Rows so short that several threads share a column when the pieces are merged.
  cases.parameters.push_back(
      {{"dim", Int{1}}, {"queries", Int{4}}, {"scale", 0.01}, {"chunks", Int{20}}, {"team", Int{4}}});
  cases.parameters.push_back({{"dim", Int{40}}, {"scale", 10.0}});
  cases.parameters.push_back({{"dim", Int{40}}, {"scale", -0.1}});
  cases.base = {{"scale", 0.01}};  // keeps the scores of the patterns' elements to a few units
  cases.shapes = [](Dice& dice, std::size_t) -> std::vector<Shape> {
    std::size_t const dim = dice.extent(dice.one_of({9, 80, 270}));
    std::size_t const keys = dice.extent(dice.one_of({9, 100, 700}));
    return {{dice.extent(40), dim}, {keys, dim}, {keys, dim}};
  };
  cases.choose = [](Dice& dice, ParameterMap& map) {
    if (dice.below(2) == 0) map["scale"] = dice.one_of({0.0, 0.1, -1.0, 30.0});
  };
  return cases;
}

}  // namespace tessera::testing
