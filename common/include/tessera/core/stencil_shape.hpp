#pragma once
/// \file
/// What a stencil is launched on, as plain numbers.

#include <cstddef>
#include <cstdint>

namespace tessera {

/// What a stencil is launched on.
struct StencilShape {
  std::size_t n = 0;
  std::size_t segment = 0;  ///< elements; 0: the whole array is one
  std::int64_t tile = 0;    ///< elements that a team works on; 0: choose
  std::int64_t team = 0;    ///< threads; 0: choose
};

}  // namespace tessera
