#pragma once
/// \file
/// The BLAS that CMake found, and conversions to its integers.

#include <cblas.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <limits>

#include <tessera/core/types.hpp>

namespace tessera::compare {

/// The integer type in the C interface of the reference implementation and of most others.
using blasint = int;

/// Throws Skip if an extent is 0 (nothing to compare) or does not fit into this integer type.
inline void needs_blas_extents(std::initializer_list<std::size_t> extents) {
  if (std::min(extents) == 0) throw Skip("nothing to compare (an extent is 0)");
  if (std::max(extents) > static_cast<std::size_t>(std::numeric_limits<blasint>::max())) {
    throw Skip("an extent above 2^31 - 1 (CBLAS counts in int)");
  }
}

}  // namespace tessera::compare
