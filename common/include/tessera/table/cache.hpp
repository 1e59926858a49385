#pragma once
/// \file
/// Pushing a working set out of the caches, for --cold.

#include <string_view>

namespace tessera::measure {

/// Reads and writes a buffer of at least twice the last-level cache on that space and waits for it. The buffer is
/// allocated at the first call and freed when Kokkos finalizes.
void evict_cache(std::string_view space);

}  // namespace tessera::measure
