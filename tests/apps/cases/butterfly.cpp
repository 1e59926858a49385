#include "segments.hpp"

namespace tessera::testing {

AppCases app_cases() { return held_segment_cases({"pair_swap", "max", "minmax_parity"}); }

}  // namespace tessera::testing
