#include "segments.hpp"

namespace tessera::testing {

AppCases app_cases() { return stencil_cases(); }

}  // namespace tessera::testing
