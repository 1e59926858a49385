#pragma once
/// \file
/// What kernels on segments have in common: kernels/stencil.hpp, an element and the next few of its segment, and
/// kernels/segments.hpp, an element, a neighbour, and a fold of its segment.

#include <cstddef>
#include <cstdint>

#include <tessera/core/spaces.hpp>

namespace tessera::kernels {

/// What such a kernel is launched on: n elements in segments, of which the last may be short.
struct SegmentShape {
  std::size_t n = 0;
  std::size_t segment = 0;  ///< elements; 0: the whole array is one
  std::int64_t tile = 0;    ///< elements that a team works on, of stencils; 0: choose
  std::int64_t team = 0;    ///< threads; 0: choose. Those that an object has not got are a Skip
};

/// Base of the Tunings: threads take parts of the array, each into the registers of its lanes.
template <ExecutionSpace Exec>
struct PartsTuning {
  /// Parts that a team takes: on a GPU one a thread; on a host enough that a team is worth starting.
  [[nodiscard]] static constexpr int parts(int threads) { return is_gpu<Exec> ? threads : 32; }
};

}  // namespace tessera::kernels
