#pragma once
/// \file
/// The boxes of padded and padded_memory, one per team.

#include <tessera/core/spaces.hpp>

namespace tessera::map_3d {

/// 1024 elements on a GPU, with a warp on each row; 8192 on hosts, enough work per team.
template <ExecutionSpace Exec>
struct BoxTuning {
  static constexpr int cols = is_gpu<Exec> ? 32 : 256;
  static constexpr int rows = 8;
  static constexpr int planes = 4;
};

}  // namespace tessera::map_3d
