#pragma once
/// \file
/// The BLAS that CMake found, and what fits its integers.

#include <cblas.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <limits>

#include <tessera/core/types.hpp>

namespace tessera::compare {

/// The integers of the reference implementation's C interface, and of most others'.
using blasint = int;

/// Throws Skip if an extent is 0, which is nothing to compare, or no such integer.
inline void needs_blas_extents(std::initializer_list<std::size_t> extents) {
  if (std::min(extents) == 0) throw Skip("nothing to compare (an extent is 0)");
  if (std::max(extents) > static_cast<std::size_t>(std::numeric_limits<blasint>::max())) {
    throw Skip("an extent is no int (CBLAS counts with them)");
  }
}

}  // namespace tessera::compare
