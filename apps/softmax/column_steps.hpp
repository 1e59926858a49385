#pragma once
/// \file
/// What a launch over columns does.

#include <cstdint>

namespace tessera::softmax {

/// Sums of chunks to memory; results from them; or both at once, where a column is one chunk.
enum class ColumnStep : std::uint8_t { sums, write, both };

}  // namespace tessera::softmax
