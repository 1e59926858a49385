#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() {
  return {.base = {{"iterations", Int{50}}},
          .parameters = {{{"iterations", Int{0}}},
                         {{"iterations", Int{1}}},
                         {{"s", -3.0}, {"iterations", Int{7}}},
                         {{"scratch", Int{0}}},
                         {{"scratch", Int{100}}}},
          .rounds_exact_data = true,
          .has_parts = false};
}

}  // namespace tessera::testing
