#include "segments.hpp"

namespace tessera::testing {

AppCases app_cases() {
  AppCases cases = stencil_cases();
  cases.rounds_exact_data = true;
  return cases;
}

}  // namespace tessera::testing
