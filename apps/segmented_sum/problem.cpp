/// \file
/// The check of the offsets of a file.

#include "problem.hpp"

#include <tessera/table/check_offsets.hpp>

namespace tessera::segmented_sum {

void SegmentedSum::check_source(DType dtype, FieldSource const& source) {
  check_offsets(source, {.name = "in", .dtype = dtype});
}

}  // namespace tessera::segmented_sum
