// Test cases for a mini-app without a file in cases/: a few values for each of its parameters, with defaults for the
// others.

#include <string>
#include <utility>

#include "all_apps.hpp"
#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases{.parameters = {}};
  App const app = std::move(all_apps().at(0));
  for (ParameterSpec const& spec : app.parameters) {
    auto const try_with = [&](ParameterValue const& value) { cases.parameters.push_back({{spec.name, value}}); };
    auto const try_numbers = [&](auto... number) {
      ((number < spec.minimum || number > spec.maximum ? void() : try_with(number)), ...);
    };
    for (std::string const& choice : spec.choices) try_with(choice);
    // Parameters that do not suit integers are skipped for integers (see `takes`).
    if (std::holds_alternative<double>(spec.default_value)) try_numbers(0.0, 1.0, -3.0, 0.3);
    if (std::holds_alternative<Int>(spec.default_value)) try_numbers(Int{1}, Int{2}, Int{3}, Int{4}, Int{7});
    if (std::holds_alternative<bool>(spec.default_value)) try_with(!std::get<bool>(spec.default_value));
  }
  return cases;
}

}  // namespace tessera::testing
