#include "segments.hpp"

namespace tessera::testing {

AppCases app_cases() { return held_segment_cases({"basic", "conditional", "shuffle"}); }

}  // namespace tessera::testing
