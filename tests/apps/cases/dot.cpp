#include "app_cases.hpp"

namespace tessera::testing {

AppCases app_cases() { return {}; }

}  // namespace tessera::testing
