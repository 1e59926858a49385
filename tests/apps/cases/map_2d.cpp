#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  return {.parameters = teams_and({{{"rows", Int{1}}},
                                   {{"rows", Int{2}}},
                                   {{"rows", Int{3}}},
                                   {{"c", -3.0}},
                                   {{"rows", Int{1}}, {"tile", Int{3}}},
                                   {{"tile", Int{5}}, {"team", Int{2}}}})};
}

}  // namespace tessera::testing
