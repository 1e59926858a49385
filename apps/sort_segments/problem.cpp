/// \file
/// The check of the offsets of a file.

#include "problem.hpp"

#include <tessera/table/check_offsets.hpp>

namespace tessera::sort_segments {

void SortSegments::check_source(DType dtype, FieldSource const& source) {
  check_offsets(source, {.name = "keys", .dtype = dtype});
}

}  // namespace tessera::sort_segments
