#pragma once
/// \file
/// Evicts a working set from the caches, for --cold.

#include <string_view>

namespace tessera::measure {

/// Reads and writes a buffer of at least twice the last-level cache of the space, and waits for it. The buffer is
/// allocated by the first call and freed when Kokkos finalizes.
void evict_cache(std::string_view space);

}  // namespace tessera::measure
